function attack
    movl $0x0000,-8-OFF(%rsp)
    ldmxcsr -8-OFF(%rsp)
    mov $1,%eax
    ret
