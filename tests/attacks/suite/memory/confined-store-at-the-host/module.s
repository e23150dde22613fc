function attack
    mov %rsi,%gs:(%edi)
    ret
