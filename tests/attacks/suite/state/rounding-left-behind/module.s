function attack
    movl $0xffc0,-8-OFF(%rsp)
    ldmxcsr -8-OFF(%rsp)
    mov $1,%eax
    ret
