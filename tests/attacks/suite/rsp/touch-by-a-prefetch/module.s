function attack
1:  lea -0x1000(%rsp),%rsp
    prefetcht0 -OFF(%rsp)
    jmp 1b
    ret
