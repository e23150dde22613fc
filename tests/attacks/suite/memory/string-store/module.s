function attack
    mov $1,%ecx
    rep stosq
    ret
