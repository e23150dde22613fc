function attack
    fill_x87
    xor %eax,%eax
    ret
