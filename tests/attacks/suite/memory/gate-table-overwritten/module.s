function attack
    mov $0x11000,%eax
    mov %rdi,%gs:(%eax)
    call *%gs:0x11000
    ret
