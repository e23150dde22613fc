function attack
1:  call 1b
    ret
