RELOCATION_INFO = 0x100000001
.include "module.inc"
