function attack
    ud2

    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1, 0, 0
    .byte 2, 0x1d, 1, 0x11, 1, 0x12, 0x0b, 0, 0
    .byte 0
    .section .debug_info,"",@progbits
    .long 2f-1f
1:  .value 4
    .long 0
    .byte 8
    .byte 1
    .rept 1 << 19
    .byte 2
    .quad 0x400
    .byte 255
    .endr
2:
