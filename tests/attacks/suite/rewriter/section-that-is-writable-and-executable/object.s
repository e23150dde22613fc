    .section .text.evil,"awx",@progbits
.globl attack
.type attack,@function
attack:

    lea attack(%rip),%rax
    movw $0x050f,(%rax)
    jmp attack
