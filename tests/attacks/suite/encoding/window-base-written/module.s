function attack
    wrgsbase %rdi
    ret
