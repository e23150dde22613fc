function attack
    mov %gs:(%edi),%r11d
    add $0x05e1f00d,%r11d
    jne 1f
    mov %edi,%r11d
    nop
    call *%r11
1:  ret
