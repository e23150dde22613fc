RELOCATION_INFO = 37
.include "module.inc"
