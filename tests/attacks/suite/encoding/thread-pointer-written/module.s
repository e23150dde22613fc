function attack
    wrfsbase %rdi
    ret
