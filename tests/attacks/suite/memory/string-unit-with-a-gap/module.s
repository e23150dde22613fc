function attack
    mov %rdi,%rdx
    mov %edi,%edi
    addr32 add %gs:0x10008,%rdi
    mov %rdx,%rdi
    stosq
    ret
