.globl attack
.type attack,@function
attack:

    lea 2f(%rip),%rdx
    movslq (%rdx,%rdi,4),%rax
    add %rdx,%rax
    jmp *%rax
1:  ret
    .section .rodata
    .balign 4
2:  .long 1b-2b, 1b-2b
