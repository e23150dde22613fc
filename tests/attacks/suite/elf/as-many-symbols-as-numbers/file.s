HASH_COUNT = 0xffffffff
.include "module.inc"
