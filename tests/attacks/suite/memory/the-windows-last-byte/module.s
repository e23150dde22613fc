function attack
    mov $-1,%eax
    vpxord %zmm0,%zmm0,%zmm0
    vmovdqu64 %zmm0,%gs:(%eax)
    ret
