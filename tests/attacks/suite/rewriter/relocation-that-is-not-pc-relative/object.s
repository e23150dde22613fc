.globl attack
.type attack,@function
attack:

    mov attack(,%rdi,8),%eax
    ret
