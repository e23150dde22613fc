.globl attack
.type attack,@function
attack:

    mov $39,%eax
    call *%gs:0x11000
    ret
