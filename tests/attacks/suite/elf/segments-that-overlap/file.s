DATA_ADDRESS = 0x1000
.include "module.inc"
