function attack
    cmp $1,%rdi
    ja 3f
    lea attack(%rip),%rcx
    movslq (%rcx,%rdi,4),%rdx
    add %rcx,%rdx
    jmp *%rdx
3:  ret
