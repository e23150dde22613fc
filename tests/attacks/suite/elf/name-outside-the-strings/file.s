SYMBOL_NAME = 0x10000
.include "module.inc"
