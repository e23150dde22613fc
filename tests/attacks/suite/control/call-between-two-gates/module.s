function attack
    call *%gs:0x11004
    ret
