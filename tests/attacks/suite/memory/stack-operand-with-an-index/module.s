function attack
    mov -OFF(%rsp,%rdi),%rax
    ret
