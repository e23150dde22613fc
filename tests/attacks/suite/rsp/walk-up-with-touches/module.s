function attack
1:  lea 0x1000(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    jmp 1b
