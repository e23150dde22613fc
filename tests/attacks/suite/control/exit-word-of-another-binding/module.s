# rdi is where the exit return address of a call lay: unit U2, then the return.
function attack
    sub $8,%rsp
    mov %rdi,%r11
    open_frame
    ret
1:  ud2
