function attack
    vmmcall
    ret
