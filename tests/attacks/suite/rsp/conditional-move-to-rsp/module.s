function attack
    cmp %eax,%eax
    cmove %rdi,%rsp
    ret
