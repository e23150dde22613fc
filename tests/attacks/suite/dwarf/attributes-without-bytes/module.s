function attack
    ud2
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1
    .rept 1 << 20
    .byte 0x3f, 0x19
    .endr
    .byte 0, 0, 0
    many_entries 1<<20
