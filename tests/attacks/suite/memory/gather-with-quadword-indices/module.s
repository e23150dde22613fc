function attack
    sub %rsi,%rdi
    vmovq %rdi,%xmm2
    vpcmpeqd %xmm1,%xmm1,%xmm1
    xor %eax,%eax
    vpgatherqq %xmm1,%gs:(%rax,%xmm2,1),%xmm0
    vmovq %xmm0,%rax
    ret
