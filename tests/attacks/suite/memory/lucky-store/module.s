function attack
    movq $0x666,%gs:(%edi)
    mov %gs:(%esi),%rax
    ret
