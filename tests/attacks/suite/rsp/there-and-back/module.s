function attack
    lea -0x10000(%rsp),%rsp
    lea 0x10000(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    ret
