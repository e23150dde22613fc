function attack
    lea 8(%rsp),%rsp
    call 1f
    lea -8(%rsp),%rsp
    ret
1:  ret
