function attack
    mov (%edi),%eax
    ret
