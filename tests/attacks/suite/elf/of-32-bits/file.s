E_CLASS = 1
.include "module.inc"
