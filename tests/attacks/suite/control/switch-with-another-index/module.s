function attack
    switch check="cmp $1,%rsi"
1:  ret
    entries 1b, 1b
