function attack
    jmp 1f
    .data
1:  .byte 0x0f, 0x05
    .text
