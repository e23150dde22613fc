function attack
    lea OFF(%rdi),%r12
    mov -OFF(%r12),%rax
    ret
