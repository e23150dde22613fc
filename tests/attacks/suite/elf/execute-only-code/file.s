CODE_FLAGS = 1
CONST_FLAGS = 1
.include "module.inc"
