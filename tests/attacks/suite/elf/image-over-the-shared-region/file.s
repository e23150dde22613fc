DATA_MEM_SIZE = 0x80000000
.include "module.inc"
