function attack
    lretq
