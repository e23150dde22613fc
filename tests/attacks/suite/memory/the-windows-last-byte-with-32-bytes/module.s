function attack
    mov $-1,%eax
    vpxor %xmm0,%xmm0,%xmm0
    vmovdqu %ymm0,%gs:(%eax)
    ret
