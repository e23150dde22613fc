function attack
    kxnorw %k0,%k0,%k1
    vpcompressd %zmm0,(%rdi){%k1}
    ret
