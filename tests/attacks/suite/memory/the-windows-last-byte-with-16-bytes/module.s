function attack
    mov $-1,%eax
    pxor %xmm0,%xmm0
    movdqu %xmm0,%gs:(%eax)
    ret
