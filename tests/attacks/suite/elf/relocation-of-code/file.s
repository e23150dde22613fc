RELOCATION_AT = 0x800
.include "module.inc"
