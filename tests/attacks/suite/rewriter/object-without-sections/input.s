.include "object.inc"
object_header 4, 1, 0x100000
