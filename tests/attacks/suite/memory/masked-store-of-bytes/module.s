function attack
    pcmpeqb %xmm1,%xmm1
    movq %rsi,%xmm0
    maskmovdqu %xmm1,%xmm0
    ret
