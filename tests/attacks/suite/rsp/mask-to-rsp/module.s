function attack
    kmovq %rdi,%k1
    kmovq %k1,%rsp
    ret
