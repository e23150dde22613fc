function attack
    switch table="lea 2f+2(%rip),%rcx"
    switch
1:  ret
    entries 1b, 1b
