function attack
    mov %gs:(%edi),%r11d
    add $0x05e1f00d,%r11d
    jne 1f
    mov %rdi,%r11
    addr32 add %gs:0x10008,%r11
    call *%r11
1:  ret
