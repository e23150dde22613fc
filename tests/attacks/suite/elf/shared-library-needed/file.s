DYNAMIC_TAG = 1
DYNAMIC_VALUE = 1
.include "module.inc"
