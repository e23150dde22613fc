function attack
    lgs %gs:(%edi),%eax
    ret
