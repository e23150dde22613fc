    .section .init_array,"aw",@init_array
    .quad 1f
    .text
1:  jmp 1b
.globl attack
.type attack,@function
attack:
    ret
