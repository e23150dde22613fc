function attack
    jmp 1f
    cmp $1,%rdi
    ja 3f
1:  lea 2f(%rip),%rcx
    movslq (%rcx,%rdi,4),%rdx
    add %rcx,%rdx
    jmp *%rdx
3:  ud2
    entries 3b, 3b
