DYNAMIC_END = 21
.include "module.inc"
