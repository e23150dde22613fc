function attack
    sub $8,%rsp
    lea 0x40(%rsp),%r11
    open_frame
1:  mov (%rsp),%rsp
    add $8,%rsp
    ret
