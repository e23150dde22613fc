function attack
    jmp *%rdi
