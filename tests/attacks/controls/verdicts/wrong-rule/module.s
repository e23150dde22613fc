function attack
mov %rsi,(%rdi)
ret
