function attack
    clflush (%rdi)
    ret
