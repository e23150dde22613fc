function attack
1:  lea -0x1000(%rsp),%rsp
    lea -OFF(%rsp),%rax
    jmp 1b
    ret
