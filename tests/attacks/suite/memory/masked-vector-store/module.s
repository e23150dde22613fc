function attack
    vpcmpeqd %ymm1,%ymm1,%ymm1
    vmaskmovps %ymm0,%ymm1,(%rdi)
    ret
