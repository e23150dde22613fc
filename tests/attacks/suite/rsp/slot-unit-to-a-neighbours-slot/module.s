# What rsp is afterwards, compared with the slot that it was in.
function attack
    sub $8,%rsp
    mov %rsp,%rdx
    lea -0x1000000(%rsp),%r11
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %rsp,%r11
    cmp %rsp,%r11
    ja 1f
    xchg %r11,%rsp
    mov %r11,(%rsp)
    mov %rsp,%rax
    xor %rdx,%rax
    mov (%rsp),%rsp
    add $8,%rsp
    ret
1:  ud2
