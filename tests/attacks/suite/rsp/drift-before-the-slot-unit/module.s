function attack
    lea -0x20000(%rsp),%rsp
    open_frame
    mov (%rsp),%rsp
    lea 0x20000(%rsp),%rsp
    ret
1:  ud2
