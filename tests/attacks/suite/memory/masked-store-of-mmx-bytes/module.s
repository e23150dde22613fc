function attack
    pcmpeqb %mm1,%mm1
    maskmovq %mm1,%mm0
    emms
    ret
