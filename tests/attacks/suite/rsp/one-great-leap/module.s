function attack
    lea -0x1000000(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    ret
