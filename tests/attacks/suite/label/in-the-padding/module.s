function attack
    nopl -0x05e1f00d(%rax)
    ret
