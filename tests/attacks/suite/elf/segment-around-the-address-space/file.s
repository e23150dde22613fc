DATA_MEM_SIZE = 0xffffffffffffe000
.include "module.inc"
