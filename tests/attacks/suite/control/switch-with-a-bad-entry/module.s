function attack
    mov $0xc3050f,%eax
    cmp $1,%rdi
    ja 3f
    lea 2f(%rip),%rcx
    movslq (%rcx,%rdi,4),%rdx
    add %rcx,%rdx
    jmp *%rdx
3:  ret
    .section .rodata
    .balign 4
2:  .long 3b-2b, attack+5-2b
    .text
