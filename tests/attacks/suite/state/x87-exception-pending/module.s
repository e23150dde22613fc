function attack
    fninit
    movw $0x0340,-8-OFF(%rsp)
    fldz
    fld1
    fdiv %st(1),%st
    fldcw -8-OFF(%rsp)
    mov $1,%eax
    ret
