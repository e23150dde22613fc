function attack
    mov $0x10008,%eax
    mov %rdi,%gs:(%eax)
    ret
