function attack
    mov %rdi,%rax
    xchg %rax,%rsp
    ret
