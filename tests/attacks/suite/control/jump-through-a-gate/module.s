function attack
    jmp *%gs:0x11000
