function attack
    mov 0xffffffffff600000,%eax
    ret
