function attack
    mov %esi,%esi
    addr32 add %gs:0x10008,%rsi
    mov %edi,%edi
    addr32 add %gs:0x10008,%rdi
    .byte 0x65, 0xa5
    ret
