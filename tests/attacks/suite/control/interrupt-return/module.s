function attack
    iretq
