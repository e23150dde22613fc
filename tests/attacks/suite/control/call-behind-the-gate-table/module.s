function attack
    call *%gs:0x12000
    ret
