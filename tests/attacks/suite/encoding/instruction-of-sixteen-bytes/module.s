function attack
    .fill 14, 1, 0x66
    .byte 0x90
    ret
