.include "object.inc"

object_header 2, 1
section 0, 0, 0, 0, 0
section 0, 2, 0, 64, 48, 1, 0, 8, 24
