function attack
    .byte 0x66, 0xe8, 0, 0, 0, 0x90
    ret
