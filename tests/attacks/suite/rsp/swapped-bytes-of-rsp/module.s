function attack
    bswap %rsp
    ret
