DATA_ADDRESS = 0x2800
.include "module.inc"
