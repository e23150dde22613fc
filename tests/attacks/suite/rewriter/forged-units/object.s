.globl attack
.type attack,@function
attack:

    mov %edi,%r11d
    add %gs:0x10008,%r11
    call *%r11
    ret
