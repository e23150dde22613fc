function attack
    mov %rsp,%rax
    cmpxchg %rdi,%rsp
    ret
