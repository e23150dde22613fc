function attack
    fld1
    fstpl (%rdi)
    ret
