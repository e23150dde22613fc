function attack
    lea -0x20000(%rsp),%rsp
    nopl -OFF(%rsp)
    test %edi,%edi
    je 1f
    nop
1:  lea 0x20000(%rsp),%rsp
    ret
