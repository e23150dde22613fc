function attack
    mov $1,%edx
    xor %eax,%eax
    mov $1,%ecx
    div %ecx
    ret
