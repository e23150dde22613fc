function attack
    vpcmpeqd %xmm1,%xmm1,%xmm1
    vmovq %rdi,%xmm4
    vpgatherqq %xmm1,-OFF(%rsp,%xmm4,1),%xmm0
    vmovq %xmm0,%rax
    ret
