function attack
    vpxor %xmm2,%xmm2,%xmm2
    vpcmpeqd %xmm1,%xmm1,%xmm1
    vpgatherdd %xmm1,(%rdi,%xmm2,4),%xmm0
    vmovd %xmm0,%eax
    ret
