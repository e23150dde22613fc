function attack
    rdfsbase %rax
    ret
