function attack
    mov %rdi,%rsi
    mov %edi,%edi
    addr32 add %gs:0x10008,%rdi
    movsq
    ret
