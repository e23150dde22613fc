.globl attack
.type attack,@function
attack:
    mov $1,%eax
    ret
    .section .debug_info,"0x800",@progbits
    .long 1, 0
    .quad 1 << 60, 1
    .byte 0x78, 0x9c
    .fill 1 << 16,1,0
