function attack
    .rept 260
    lea -0x10000(%rsp),%rsp
    .endr
    mov %rax,-OFF(%rsp)
    ret
