function attack
    mov %rdi,(%rsp)
    ret
