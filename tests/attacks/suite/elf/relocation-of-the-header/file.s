RELOCATION_AT = 0xffffffffffff0008
.include "module.inc"
