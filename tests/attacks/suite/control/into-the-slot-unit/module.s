function attack
    sub $8,%rsp
    mov %rdi,%r11
    test %rdi,%rdi
    jne 1f
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %rsp,%r11
    cmp %rsp,%r11
    ja 2f
1:  xchg %r11,%rsp
    mov %r11,(%rsp)
    mov (%rsp),%rsp
    add $8,%rsp
    ret
2:  ud2
