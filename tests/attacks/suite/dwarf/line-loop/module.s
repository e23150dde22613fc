function attack
    ud2
    .section .debug_line,"",@progbits
    .long 0x7ffffff0
    .short 4
    .long 20
    .byte 1, 1, 1, -5, 14, 13
