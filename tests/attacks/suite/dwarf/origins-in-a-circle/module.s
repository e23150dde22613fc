function attack
    ud2

    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1, 0, 0
    # An inlined call: origin, low and high address.
    .byte 2, 0x1d, 0, 0x31, 0x13, 0x11, 1, 0x12, 0x0b, 0, 0
    .byte 0
    .section .debug_info,"",@progbits
3:  .long 2f-1f
1:  .value 4
    .long 0
    .byte 8
    .byte 1
4:  .byte 2
    .long 5f-3b
    .quad attack
    .byte 64
5:  .byte 2
    .long 4b-3b
    .quad attack
    .byte 64
    .byte 0
2:
