.include "object.inc"

relocated_object ".fill 8,1,0x90", 0x1000000, 0x100000002
