function attack
1:  xor %eax,%eax
    lea -0x1000(%rsp),%rsp
    cmp $1,%rax
    ja 1b
    lea 2f(%rip),%rcx
    movslq (%rcx,%rax,4),%rdx
    add %rcx,%rdx
    jmp *%rdx
    .section .rodata
    .balign 4
2:  .long 1b-2b, 1b-2b
    .text
    ud2
