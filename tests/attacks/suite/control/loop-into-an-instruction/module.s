function attack
    mov $2,%ecx
1:  mov $0xc3050f,%eax
    loop 1b+1
    ret
