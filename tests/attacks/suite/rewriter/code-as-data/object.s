.globl attack
.type attack,@function
attack:

    lea 1f(%rip),%rax
    jmp *%rax
    .section .rodata
1:  mov $39,%eax
    syscall
    ret
