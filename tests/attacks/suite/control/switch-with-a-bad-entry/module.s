function attack
    mov $0xc3050f,%eax
    switch
1:  ret
    entries 1b, attack+5
