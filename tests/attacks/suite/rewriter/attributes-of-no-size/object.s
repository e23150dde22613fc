.include "dwarf.inc"
    harmless
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1
    .fill 1 << 20,2,0x193f
    .byte 0, 0, 0
    many_entries 1<<20
