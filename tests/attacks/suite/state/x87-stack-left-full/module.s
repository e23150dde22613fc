function attack
    fninit
    .rept 8
    fld1
    .endr
    mov $1,%eax
    ret
