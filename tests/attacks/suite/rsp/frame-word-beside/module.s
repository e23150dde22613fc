function attack
    sub $8,%rsp
    lea -0x40(%rsp),%r11
    open_frame
    sub $8,%rsp
    mov (%rsp),%rsp
    add $8,%rsp
    ret
1:  ud2
