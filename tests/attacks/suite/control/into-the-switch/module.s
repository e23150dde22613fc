function attack
    jmp 1f
    cmp $1,%rdi
    ja 3f
1:  lea 2f(%rip),%rcx
    movslq (%rcx,%rdi,4),%rdx
    add %rcx,%rdx
    jmp *%rdx
3:  ud2
    .section .rodata
    .balign 4
2:  .long 3b-2b, 3b-2b
    .text
