function attack
    mov %gs:(%edi),%r11d
    cmp $0xfa1e0ff3,%r11d
    jne 1f
    mov %edi,%r11d
    addr32 add %gs:0x10008,%r11
    call *%r11
1:  ret
