function attack
    .byte 0x65, 0x8b, 0x05, 0, 0, 0, 0
    ret
