function attack
    pop %rsp
    ret
