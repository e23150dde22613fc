function attack
    mov $0x5ec2e75ec2e75ec2,%rbx
    mov %rbx,%rbp
    mov %rbx,%r12
    mov %rbx,%r13
    mov %rbx,%r14
    mov %rbx,%r15
    movl $0xe040,-8-OFF(%rsp)
    ldmxcsr -8-OFF(%rsp)
    fninit
    movw $0x0340,-8-OFF(%rsp)
    .rept 8
    fldz
    .endr
    fldcw -8-OFF(%rsp)
    ud2
