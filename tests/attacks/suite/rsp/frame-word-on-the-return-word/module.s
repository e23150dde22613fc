function attack
    mov %rsp,%r11
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %rsp,%r11
    cmp %rsp,%r11
    ja 1f
    xchg %r11,%rsp
    mov %r11,(%rsp)
    ret
1:  ud2
