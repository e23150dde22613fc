function attack
    shl $3,%rdi
    bt %rdi,-OFF(%rsp)
    sbb %eax,%eax
    ret
