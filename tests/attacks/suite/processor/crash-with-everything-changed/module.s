function attack
    fill_x87
    movl $0x7fc0,-8-OFF(%rsp)
    ldmxcsr -8-OFF(%rsp)
    movw $0x0c3f,-8-OFF(%rsp)
    fldcw -8-OFF(%rsp)
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vpcmpeqd %ymm\n,%ymm\n,%ymm\n
    .endr
    mov $-1,%rbx
    mov %rbx,%rbp
    mov %rbx,%r12
    mov %rbx,%r13
    mov %rbx,%r14
    mov %rbx,%r15
    ud2
