function attack
    sub $8,%rsp
    mov %rsp,%r11
    and $-0x1000000,%r11
    open_frame
    mov (%rsp),%rsp
    add $8,%rsp
    ret
1:  ud2
