function attack
    lea -0x20000(%rsp),%rsp
    lea -OFF(%rsp),%rax
    test %edi,%edi
    je 1f
    nop
1:  lea 0x20000(%rsp),%rsp
    ret
