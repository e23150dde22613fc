function attack
    kxorw %k1,%k1,%k1
    lea -0x20000(%rsp),%rsp
    vmovdqu32 -OFF(%rsp),%zmm0{%k1}
    test %edi,%edi
    je 1f
    nop
1:  lea 0x20000(%rsp),%rsp
    ret
