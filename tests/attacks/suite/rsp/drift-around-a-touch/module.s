function attack
    xor %ecx,%ecx
1:  lea -0x1000(%rsp),%rsp
    jrcxz 1b
    mov %rax,-OFF(%rsp)
    ud2
