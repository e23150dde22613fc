CODE_FLAGS = 7
.include "module.inc"
