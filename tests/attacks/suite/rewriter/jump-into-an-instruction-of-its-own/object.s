.globl attack
.type attack,@function
attack:

    jmp 1f+1
1:  mov $0xc3050f,%eax
    ret
