function attack
1:  lea -0x10000(%rsp),%rsp
    mov %rax,0x10000-OFF(%rsp)
    jmp 1b
