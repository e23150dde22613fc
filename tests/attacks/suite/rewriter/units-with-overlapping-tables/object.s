.globl attack
.type attack,@function
attack:
    mov $1,%eax
    ret
    .section .debug_abbrev,"",@progbits
    .rept 100000
    .byte 1, 0x11, 0, 0, 0
    .endr
    .byte 0
    .section .debug_info,"",@progbits
    .set at,0
    .rept 20000
    .long 8
    .value 4
    .long at
    .byte 8, 1
    .set at,at+5
    .endr
