function attack
    sub $8,%rsp
    mov %rsp,-0x100(%rsp)
    lea -0x100(%rsp),%rsp
    mov (%rsp),%rsp
    add $8,%rsp
    ret
