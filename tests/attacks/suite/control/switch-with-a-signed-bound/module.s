function attack
    switch leave="jg 1f"
1:  ret
    entries 1b, 1b
