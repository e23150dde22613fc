function attack
    push %rdi
    ret
