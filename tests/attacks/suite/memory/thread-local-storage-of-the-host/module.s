function attack
    mov %fs:0x28,%rax
    ret
