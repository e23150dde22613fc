function attack
    lea 4(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    ret
