function attack
    pcmpeqb %mm3,%mm3
    mov $1,%eax
    ret
