function attack
    mov %rsp,%r11
    open_frame
    ret
1:  ud2
