function attack
    mov %rdi,%rax
    clzero
    ret
