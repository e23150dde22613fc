DATA_MEM_SIZE = 0x3ffd0000
.include "module.inc"
