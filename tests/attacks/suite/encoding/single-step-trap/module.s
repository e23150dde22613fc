function attack
    .byte 0xf1
    ret
