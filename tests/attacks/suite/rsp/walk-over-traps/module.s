function attack
    mov $16,%ecx
1:  sub $0x8000,%rsp
    ud2
    dec %ecx
    jne 1b
    ret
