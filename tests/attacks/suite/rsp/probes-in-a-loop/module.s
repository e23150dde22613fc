function attack
1:  sub $0x1000,%rsp
    lock orq $0,-OFF(%rsp)
    cmp %rdi,%rsp
    jne 1b
    ud2
