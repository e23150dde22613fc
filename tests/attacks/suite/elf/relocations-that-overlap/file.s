SECOND_AT = 0x2204
RELOCATIONS_SIZE = 48
.include "module.inc"
