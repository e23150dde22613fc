function attack
    mov %rdi,%rdx
    mulx %rdi,%rax,%rsp
    ret
