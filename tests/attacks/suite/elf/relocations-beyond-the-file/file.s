RELOCATIONS_SIZE = 0x7ffffffffffffff8
.include "module.inc"
