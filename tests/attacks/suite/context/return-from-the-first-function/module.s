function begins
    mov $1,%eax
    ret
function attack
    lea -8(%rsp),%rsp
    mov $1,%edi
    lea begins(%rip),%rsi
    xor %edx,%edx
    mov $0x1000,%r10d
    mov $0x4c670001,%eax
    call *%gs:0x11000
    mov $2,%edi
    mov %rax,%rsi
    mov $0x4c670001,%eax
    call *%gs:0x11000
    lea 8(%rsp),%rsp
    ret
