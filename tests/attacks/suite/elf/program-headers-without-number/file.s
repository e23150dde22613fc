E_PHNUM = 0xffff
.include "module.inc"
