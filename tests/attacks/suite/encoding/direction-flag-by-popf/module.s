function attack
    popf
    ret
