function attack
    call *%gs:0x10008
    ret
