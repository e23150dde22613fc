function attack
    rdrand %rsp
    ret
