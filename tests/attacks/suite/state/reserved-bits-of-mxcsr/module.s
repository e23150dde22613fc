function attack
    movl $-1,-8-OFF(%rsp)
    ldmxcsr -8-OFF(%rsp)
    ret
