function attack
    mov $0x5ec2e75ec2e75ec2,%rax
    mov %rax,%rbx
    mov %rax,%rbp
    mov %rax,%r12
    mov %rax,%r13
    mov %rax,%r14
    mov %rax,%r15
    mov $1,%eax
    ret
