MORE_TYPE = 0x6474e551
MORE_FLAGS = 7
.include "module.inc"
