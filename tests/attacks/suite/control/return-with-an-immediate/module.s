function attack
    ret $8
