function attack
    .rept 300
    lea -0x1000(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    .endr
    lea 300*0x1000(%rsp),%rsp
    ret
