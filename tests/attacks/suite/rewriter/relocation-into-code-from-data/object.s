.globl attack
.type attack,@function
attack:

    mov $0xc3050f,%eax
    ret
    .data
    .quad attack+1
