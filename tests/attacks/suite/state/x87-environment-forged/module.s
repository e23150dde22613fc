function attack
    fnstenv -64-OFF(%rsp)
    movw $0x0340,-64-OFF(%rsp)
    movw $0x8081,-60-OFF(%rsp)
    movw $0x0000,-56-OFF(%rsp)
    fldenv -64-OFF(%rsp)
    mov $1,%eax
    ret
