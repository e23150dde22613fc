function attack
    switch check="cmp $2,%rdi"
1:  ret
    .section .rodata
    .balign 4
2:  .long 1b-2b, 1b-2b, attack+1-2b
    .text
