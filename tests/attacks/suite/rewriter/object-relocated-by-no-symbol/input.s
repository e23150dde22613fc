.include "object.inc"

relocated_object ".byte 0xe8, 0, 0, 0, 0, 0xc3, 0x90, 0x90", 1, 0xffffffff00000002
