.globl attack
.type attack,@function
attack:

    mov %fs:0x70000000,%rax
    ret
