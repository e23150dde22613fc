function attack
    mov %rdi,%gs:(%esi)
    call *%gs:(%esi)
    ret
