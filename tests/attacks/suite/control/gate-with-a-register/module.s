function attack
    call *%gs:0x11000(,%edi,8)
    ret
