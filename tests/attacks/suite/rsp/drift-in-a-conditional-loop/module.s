function attack
1:  lea -0x1000(%rsp),%rsp
    dec %edi
    jne 1b
    mov %rax,-OFF(%rsp)
    ud2
