function attack
    cvtsi2sd %rdi,%xmm0
    cvttsd2si %xmm0,%rsp
    ret
