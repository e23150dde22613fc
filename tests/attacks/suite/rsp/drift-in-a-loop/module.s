function attack
1:  lea -0x1000(%rsp),%rsp
    jmp 1b
    ud2
