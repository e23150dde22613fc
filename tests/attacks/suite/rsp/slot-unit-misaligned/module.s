function attack
    sub $8,%rsp
    mov %rsp,%rdx
    lea 5(%rsp),%r11
    open_frame
    mov %rsp,%rax
    xor %rdx,%rax
    mov (%rsp),%rsp
    add $8,%rsp
    ret
1:  ud2
