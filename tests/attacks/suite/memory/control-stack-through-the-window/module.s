function attack
    lea -OFF(%rsp),%rax
    mov %rdi,%gs:0x40000000(%eax)
    ret
