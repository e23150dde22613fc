function attack
    rdpmc
    ret
