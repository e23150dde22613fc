function attack
    mov %gs:-0x05e1f00d(%edi),%eax
    ret
