function attack
    mov %rdi,%r11
    jmp 1f
    xor %rsp,%r11
    and $0xfffff8,%r11d
1:  xor %r11,%rsp
    mov -OFF(%rsp),%r11
    ret
