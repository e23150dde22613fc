function attack
    lea -OFF(%rsp),%rax
    mov %rdi,%gs:OFF(%eax)
    ret
