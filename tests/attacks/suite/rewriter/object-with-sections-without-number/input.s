.include "object.inc"
object_header 0xfeff, 0
section 0, 0, 0, 0, 0
