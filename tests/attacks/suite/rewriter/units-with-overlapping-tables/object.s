.include "dwarf.inc"
    harmless
    .section .debug_abbrev,"",@progbits
    .rept 100000
    .byte 1, 0x11, 0, 0, 0
    .endr
    .byte 0
    many_units 20000, apart=5
