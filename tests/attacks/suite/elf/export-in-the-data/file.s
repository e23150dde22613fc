SYMBOL_VALUE = 0x2400
.include "module.inc"
