function attack
    cli
    ret
