function attack
    movb $0xf3,%gs:(%edi)
    movb $0x0f,%gs:1(%edi)
    movb $0x1e,%gs:2(%edi)
    movb $0xfa,%gs:3(%edi)
    movl $0xc3050f,%gs:4(%edi)
    checked_call
1:  ret
