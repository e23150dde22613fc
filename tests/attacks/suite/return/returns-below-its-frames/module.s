function attack
    mov $8,%ecx
    call deep
    xor %eax,%eax
    lea -64(%rsp),%rsp
    testb $0,(%rsp)
    ret
deep:
    dec %ecx
    jz 1f
    call deep
1:  xor %eax,%eax
    ret
