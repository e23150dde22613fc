function attack
1:  xor %eax,%eax
    lea -0x1000(%rsp),%rsp
    switch check="cmp $1,%rax" leave="ja 1b" load="movslq (%rcx,%rax,4),%rdx"
    entries 1b, 1b
    ud2
