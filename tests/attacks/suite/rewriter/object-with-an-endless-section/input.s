.include "object.inc"

object_header 3, 2
section 0, 0, 0, 0, 0
section 1, 1, 6, 0x8000000000000000, 0x7fffffffffffffff
section 1, 3, 0, 64, 8
