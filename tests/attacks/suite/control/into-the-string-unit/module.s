function attack
    jmp 1f
    mov %edi,%edi
    addr32 add %gs:0x10008,%rdi
1:  stosq
    ret
