function attack
1:  lea attack(%rip),%rax
    lea -0x1000(%rsp),%rsp
    mov %gs:(%eax),%r11d
    add $0x05e1f00d,%r11d
    jne 2f
    mov %eax,%r11d
    addr32 add %gs:0x10008,%r11
    jmp *%r11
2:  ud2
    ret
