function attack
    sub $8,%rsp
    lea -0x40(%rsp),%r11
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %rsp,%r11
    cmp %rsp,%r11
    ja 1f
    xchg %r11,%rsp
    mov %r11,(%rsp)
    sub $8,%rsp
    mov (%rsp),%rsp
    add $8,%rsp
    ret
1:  ud2
