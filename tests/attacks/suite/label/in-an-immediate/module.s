function attack
    movabs $0x050ffa1e0ff39090,%rax
    ret
