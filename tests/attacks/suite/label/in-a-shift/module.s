function attack
    movabs $0xfa1e0ff300000000,%rax
    ret
