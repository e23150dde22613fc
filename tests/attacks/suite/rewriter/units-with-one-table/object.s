.include "dwarf.inc"
    harmless
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 0, 0, 0
    many_abbreviations 100000
    many_units 20000
