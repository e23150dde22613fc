function attack
    mov %edi,%esp
    ret
