function attack
    .rept 18
    lea -0x10000(%rsp),%rsp
    mov %rax,0x10000-OFF(%rsp)
    .endr
    lea 18*0x10000(%rsp),%rsp
    ret
