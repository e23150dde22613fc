function attack
    and $0x0ff0,%rsp
    mov %rax,-OFF(%rsp)
    ret
