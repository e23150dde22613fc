.globl attack
.type attack,@function
attack:

    mov %fs:0x28,%rax
    ret
