function attack
    switch check="cmp $1,%edi"
1:  ret
    entries 1b, 1b
