function attack
    mov %edi,%edi
    addr32 add %gs:0x40008,%rdi
    stosq
    ret
