function attack
    mov %rsp,%rdx
    lea 5(%rsp),%r11
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %r11,%rsp
    mov -OFF(%rsp),%r11
    mov %rsp,%rax
    xor %rdx,%rax
    ret
