function attack
    rdsspq %rax
    ret
