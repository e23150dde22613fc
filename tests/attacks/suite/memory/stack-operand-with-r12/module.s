function attack
    mov %rdi,%r12
    mov -OFF(%rsp,%r12),%rax
    ret
