    .section .note.lockgate,"a",@note
    .long 9, 8, 1
    .asciz "Lockgate"
    .balign 4
    .long 3, 3
    .text
.globl attack
.type attack,@function
attack:
    ret
