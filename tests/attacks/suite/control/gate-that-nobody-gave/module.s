function attack
    call *%gs:0x11ff8
    ret
