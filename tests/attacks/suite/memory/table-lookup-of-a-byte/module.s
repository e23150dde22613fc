function attack
    mov %rdi,%rbx
    xor %eax,%eax
    xlat
    ret
