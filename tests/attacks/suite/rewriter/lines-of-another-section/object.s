.globl attack
.type attack,@function
attack:

    mov $1,%eax
    ret
    .section .debug_line,"",@progbits
    .long 2f-1f
1:  .value 4
    .long 4f-3f
3:  .byte 1, 1, 1, -5, 14, 13
    .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
    .byte 0
    .asciz "a.c"
    .byte 0, 0, 0, 0
4:  .byte 0, 9, 2
    .quad attack
    .byte 2
    .uleb128 0xffffffffffffffff
    .byte 1, 8, 8, 8, 0, 1, 1
2:
