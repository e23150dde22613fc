function attack
    pushf
    ret
