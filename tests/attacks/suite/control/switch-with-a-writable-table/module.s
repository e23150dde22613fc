function attack
    switch
1:  ret
    entries 1b, 1b section=.data
