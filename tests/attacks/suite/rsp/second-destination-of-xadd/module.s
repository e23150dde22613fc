function attack
    xadd %rsp,%rdi
    ret
