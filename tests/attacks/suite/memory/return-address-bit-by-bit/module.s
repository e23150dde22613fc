function attack
    testb $1,(%rsp)
    setne %al
    ret
