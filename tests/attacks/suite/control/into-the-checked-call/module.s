function attack
    mov %rdi,%r11
    jmp 1f
    mov %gs:(%eax),%r11d
    add $0x05e1f00d,%r11d
    jne 2f
    mov %eax,%r11d
    addr32 add %gs:0x10008,%r11
1:  call *%r11
2:  ud2
