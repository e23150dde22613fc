function attack
    switch
1:  ret
    entries 1b, attack-0xd000
