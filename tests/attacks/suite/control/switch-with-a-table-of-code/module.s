function attack
    switch table="lea attack(%rip),%rcx"
1:  ret
