function attack
lea 1(%rdi),%rax
ret
