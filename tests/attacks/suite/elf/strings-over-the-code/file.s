STRINGS_SIZE = 0x10000
.include "module.inc"
