.globl attack
.type attack,@function
attack:
    fxsave (%rdi)
    ret
