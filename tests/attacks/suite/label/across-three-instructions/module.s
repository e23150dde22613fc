function attack
    mov $0x1e0ff300,%eax
    cli
    ret
