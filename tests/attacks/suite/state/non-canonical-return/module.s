function attack
    mov $0x8000000000000000,%rdi
    mov %rdi,%rbp
    mov %rdi,%rbx
    checked_call
1:  ud2
