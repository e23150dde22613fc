RELOCATION_AT = 0x2ffc
.include "module.inc"
