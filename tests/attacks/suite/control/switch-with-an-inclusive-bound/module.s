function attack
    switch leave="jae 1f"
1:  ret
    entries 1b, 1b
