function attack
    mov (%rsp),%rax
    ret
