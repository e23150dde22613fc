function attack
    mov $1,%edx
    mulx %rdi,%rsp,%rax
    ret
