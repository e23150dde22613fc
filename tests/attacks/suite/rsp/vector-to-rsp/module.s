function attack
    vmovq %rdi,%xmm0
    vmovq %xmm0,%rsp
    ret
