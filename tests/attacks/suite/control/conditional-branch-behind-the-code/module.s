function attack
    je .+0x100000
    ret
