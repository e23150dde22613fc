    .section .hidden,"ax",@progbits
.globl attack
.type attack,@function
attack:

    push %rbx
    mov $42,%ebx
    mov %rbx,%rax
    pop %rbx
    ret
