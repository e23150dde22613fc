function attack
    lea attack(%rip),%rax
    movw $0x050f,%gs:(%eax)
    jmp attack
