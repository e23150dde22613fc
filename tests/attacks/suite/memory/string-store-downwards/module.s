function attack
    std
    mov $0x1000,%ecx
    xor %edi,%edi
    addr32 add %gs:0x10008,%rdi
    rep stosb
    cld
    ret
