E_PHOFF = 0x2800
.include "module.inc"
