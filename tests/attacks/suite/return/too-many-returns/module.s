function attack
    mov $1,%eax
    call once
    mov $2,%eax
    ret
once:
    mov $0,%eax
    lea 8(%rsp),%rsp
    testb $0,(%rsp)
    ret
