function attack
    mov $0x200,%eax
    xor %edx,%edx
    xrstor %gs:(%edi)
    ret
