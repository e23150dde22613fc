MORE_TYPE = 3
.include "module.inc"
