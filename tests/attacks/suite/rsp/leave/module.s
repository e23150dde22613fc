function attack
    mov %rdi,%rbp
    leave
    ret
