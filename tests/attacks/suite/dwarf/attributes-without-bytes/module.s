function attack
    ud2
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1
    .rept 1 << 20
    .byte 0x3f, 0x19
    .endr
    .byte 0, 0, 0
    .section .debug_info,"",@progbits
    .long 2f-1f
1:  .value 4
    .long 0
    .byte 8
    .fill 1 << 20,1,1
2:
