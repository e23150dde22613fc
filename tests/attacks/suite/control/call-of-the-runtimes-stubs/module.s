function attack
    call attack-0xd000
    ret
