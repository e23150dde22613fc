.globl attack
.type attack,@function
attack:
    mov $1,%eax
    ret
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1
    .fill 1 << 20,2,0x193f
    .byte 0, 0, 0
    .section .debug_info,"",@progbits
    .long 2f-1f
1:  .value 4
    .long 0
    .byte 8
    .fill 1 << 20,1,1
2:
