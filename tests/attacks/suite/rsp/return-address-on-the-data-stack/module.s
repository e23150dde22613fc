function attack
    lea -0x200(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    .set at,0
    .rept 96
    mov %rdi,at-OFF(%rsp)
    .set at,at+8
    .endr
    lea 0x200(%rsp),%rsp
    mov %rdi,-OFF(%rsp)
    mov $42,%eax
    ret
