function attack
    sidt %gs:(%edi)
    ret
