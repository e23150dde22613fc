function attack
    ud2
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1, 0, 0
    # A function, with its ranges at an offset.
    .byte 2, 0x2e, 0, 0x55, 0x17, 0, 0
    .byte 0
    .section .debug_info,"",@progbits
    .long 2f-1f
1:  .value 5
    .byte 1, 8
    .long 0
    .byte 1
    .rept 100000
    .byte 2
    .long 12
    .endr
    .byte 0
2:
    .section .debug_addr,"",@progbits
    .quad 0x800050000000c, 0
    .section .debug_rnglists,"",@progbits
    .long 2f-1f
1:  .value 5
    .byte 8, 0
    .long 0
    # The base address is number 0 of .debug_addr; at last the list's end.
    .fill 8 << 20, 2, 1
    .byte 0
2:
