function attack
    xor %eax,%eax
    mov %eax,%gs
    ret
