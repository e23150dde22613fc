function attack
1:  lea -0x1000(%rsp),%rsp
    mov %gs:(%edi),%r11d
    add $0x05e1f00d,%r11d
    jne 1b
    mov %edi,%r11d
    addr32 add %gs:0x10008,%r11
    call *%r11
    ud2
