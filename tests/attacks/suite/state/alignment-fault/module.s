function attack
    movaps %gs:1(%edi),%xmm0
    ret
