    .globl _lg_alloc
    .type _lg_alloc,@function
_lg_alloc:
    mov $0x1230,%eax
    ret
.globl attack
.type attack,@function
attack:
    mov $1,%eax
    ret
