function attack
    vpxor %xmm1,%xmm1,%xmm1
    lea -0x20000(%rsp),%rsp
    vmaskmovps -OFF(%rsp),%xmm1,%xmm0
    test %edi,%edi
    je 1f
    nop
1:  lea 0x20000(%rsp),%rsp
    ret
