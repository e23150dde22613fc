function attack
    sub %rsi,%rdi
    mov %gs:(%rdi),%rax
    ret
