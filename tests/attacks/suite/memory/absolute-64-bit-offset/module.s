function attack
    movabs 0x5ec2e75ec2e75ec2,%rax
    ret
