function attack
    or $0x8,%rsp
    mov %rax,-OFF(%rsp)
    ret
