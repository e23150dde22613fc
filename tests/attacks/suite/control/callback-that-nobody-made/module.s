function attack
    mov $0x12000 + 512*16 + 1023*16,%edi
    checked_call
    ret
1:  ud2
