function begins
    mov $1,%eax
    ret
# How many of them were made: none.
function attack
    lea -24(%rsp),%rsp
    movq $0,-OFF(%rsp)
    mov %rdi,8-OFF(%rsp)
    .macro try
    mov $1,%edi
    xor %edx,%edx
    mov $0x1000,%r10d
    mov $0x4c670001,%eax
    call *%gs:0x11000
    cmp $-22,%rax
    setne %al
    movzbl %al,%eax
    add %rax,-OFF(%rsp)
    .endm
    lea begins+4(%rip),%rsi
    try
    lea begins+6(%rip),%rsi
    try
    mov 8-OFF(%rsp),%rsi
    try
    mov $0x70000000,%esi
    try
    xor %esi,%esi
    try
    mov -OFF(%rsp),%rax
    lea 24(%rsp),%rsp
    ret
