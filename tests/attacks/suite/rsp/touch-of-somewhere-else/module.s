function attack
    lea -OFF(%rsp),%rdx
    lea -0x20000(%rsp),%rsp
    mov %rax,%gs:(%edx)
    test %edi,%edi
    je 1f
    nop
1:  lea 0x20000(%rsp),%rsp
    ret
