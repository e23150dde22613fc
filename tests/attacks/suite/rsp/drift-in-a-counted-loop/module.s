function attack
    mov $0x10000,%ecx
1:  lea -0x1000(%rsp),%rsp
    loop 1b
    mov %rax,-OFF(%rsp)
    ud2
