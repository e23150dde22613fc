function attack
    mov $0x12000 + 512*16 + 1023*16,%edi
    mov %gs:(%edi),%r11d
    add $0x05e1f00d,%r11d
    jne 1f
    mov %edi,%r11d
    addr32 add %gs:0x10008,%r11
    call *%r11
    ret
1:  ud2
