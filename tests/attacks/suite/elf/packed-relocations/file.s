DYNAMIC_TAG = 36
DYNAMIC_VALUE = 0x1500
.include "module.inc"
