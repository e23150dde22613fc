    .section .init_array,"aw",@init_array
    .quad first
    .text
    .type first,@function
first:
    mov $0x7fff00001230,%rax
    mov %rax,(%rax)
    ret
.globl attack
.type attack,@function
attack:
    ret
