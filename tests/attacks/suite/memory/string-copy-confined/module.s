function attack
    xchg %rdi,%rsi
    mov %edi,%edi
    addr32 add %gs:0x10008,%rdi
    mov %esi,%esi
    addr32 add %gs:0x10008,%rsi
    movsq
    ret
