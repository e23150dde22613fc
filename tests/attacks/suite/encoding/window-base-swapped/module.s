function attack
    swapgs
    ret
