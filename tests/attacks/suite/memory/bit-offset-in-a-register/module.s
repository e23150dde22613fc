function attack
    shl $3,%rdi
    bts %rdi,%gs:(%esi)
    ret
