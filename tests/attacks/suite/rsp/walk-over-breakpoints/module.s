function attack
    mov $16,%ecx
1:  sub $0x10000,%rsp
    int3
    sub $8,%rsp
    dec %ecx
    jne 1b
    ret
