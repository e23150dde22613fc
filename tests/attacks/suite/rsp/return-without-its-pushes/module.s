function attack
    lea -0x2000(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    jmp callee
callee:
    mov $1,%eax
    ret
