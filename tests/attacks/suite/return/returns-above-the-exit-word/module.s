function attack
    xor %eax,%eax
    lea 4096(%rsp),%rsp
    testb $0,(%rsp)
    ret
