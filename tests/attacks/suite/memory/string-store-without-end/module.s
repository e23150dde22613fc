function attack
    mov $1 << 40,%rcx
    mov %edi,%edi
    addr32 add %gs:0x10008,%rdi
    rep stosb
    ret
