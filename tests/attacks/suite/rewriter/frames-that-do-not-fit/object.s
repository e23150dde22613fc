.globl attack
.type attack,@function
attack:

    mov $1,%eax
    ret
    .section .eh_frame,"a",@progbits
1:  .long 3f-2f
2:  .long 0
    .byte 1
    .asciz "zR"
    .byte 1, 0x78, 16, 1, 0x1b
    .balign 8
3:  .long 5f-4f
4:  .long .-1b
    .long attack-.
    .long 0x7fffffff
    .byte 0
    .balign 8
5:  .long 7f-6f
6:  .long .-3b
    .long attack-.
    .long 16
    .byte 0
    .balign 8
7:  .long 0
