function attack
    cmp $1,%rsi
    ja 3f
    lea 2f(%rip),%rcx
    movslq (%rcx,%rdi,4),%rdx
    add %rcx,%rdx
    jmp *%rdx
3:  ret
    .section .rodata
    .balign 4
2:  .long 3b-2b, 3b-2b
    .text
