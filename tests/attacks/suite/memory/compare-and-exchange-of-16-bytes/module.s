function attack
    lock cmpxchg16b (%rdi)
    ret
