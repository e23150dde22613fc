DYNAMIC_TAG = 22
.include "module.inc"
