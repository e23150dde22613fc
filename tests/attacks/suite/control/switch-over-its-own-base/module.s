function attack
    switch table="lea 2f(%rip),%rdi" load="movslq (%rdi,%rdi,4),%rdx" sum="add %rdi,%rdx"
1:  ret
    entries 1b, 1b
