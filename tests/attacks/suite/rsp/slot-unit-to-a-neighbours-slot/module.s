# What rsp is afterwards, compared with the slot that it was in.
function attack
    sub $8,%rsp
    mov %rsp,%rdx
    lea -0x1000000(%rsp),%r11
    open_frame
    mov %rsp,%rax
    xor %rdx,%rax
    mov (%rsp),%rsp
    add $8,%rsp
    ret
1:  ud2
