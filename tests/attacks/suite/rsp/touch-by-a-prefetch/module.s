function attack
    lea -0x20000(%rsp),%rsp
    prefetcht0 -OFF(%rsp)
    test %edi,%edi
    je 1f
    nop
1:  lea 0x20000(%rsp),%rsp
    ret
