function attack
    switch sum="add %rsi,%rdx"
1:  ret
    entries 1b, 1b
