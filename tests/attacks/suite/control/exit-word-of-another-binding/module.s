# rdi is where the exit word of a call lay: unit U2, then the return.
function attack
    sub $8,%rsp
    mov %rdi,%r11
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %rsp,%r11
    cmp %rsp,%r11
    ja 1f
    xchg %r11,%rsp
    mov %r11,(%rsp)
    ret
1:  ud2
