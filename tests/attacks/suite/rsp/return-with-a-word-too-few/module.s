function attack
    lea 8(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    ret
