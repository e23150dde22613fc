function attack
    cmp $1,%rax
    ja 1f
    lea 2f(%rip),%rcx
    movslq (%rcx,%rax,4),%rdx
    add %rcx,%rdx
    jmp *%rdx
function framed
    sub $8,%rsp
    cmp $1,%rax
    ja 1f
    lea 2f(%rip),%rcx
    movslq (%rcx,%rax,4),%rdx
    add %rcx,%rdx
    jmp *%rdx
1:  ud2
3:  endbr64
    ret
    .section .rodata
    .balign 4
2:  .long 3b-2b, 3b-2b
    .text
