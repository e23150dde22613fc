function attack
    pending_x87 control=0x0340, values=0
    mov $1,%eax
    ret
