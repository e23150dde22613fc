function attack
    blsr %rdi,%rsp
    ret
