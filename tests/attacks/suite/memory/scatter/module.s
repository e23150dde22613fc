function attack
    kxnorw %k0,%k0,%k1
    vpbroadcastq %rdi,%zmm1
    xor %eax,%eax
    vpscatterqq %zmm0,(%rax,%zmm1,1){%k1}
    ret
