function attack
    mov $20,%eax
    int $0x80
    ret
