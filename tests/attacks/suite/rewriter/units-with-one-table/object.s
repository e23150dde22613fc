.globl attack
.type attack,@function
attack:
    mov $1,%eax
    ret
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 0, 0, 0
    .set code,1
    .rept 100000
    .uleb128 0x80 + code
    .byte 0x11, 0, 0, 0
    .set code,code+1
    .endr
    .byte 0
    .section .debug_info,"",@progbits
    .rept 20000
    .long 8
    .value 4
    .long 0
    .byte 8, 1
    .endr
