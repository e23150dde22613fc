RELOCATION_AT = 0x1800
.include "module.inc"
