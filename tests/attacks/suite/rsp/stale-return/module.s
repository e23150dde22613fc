function attack
    call deep
    # The frame of deep's inner call is gone, its return address is still there.
    lea -0x110(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    ret
deep:
    lea -0x100(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    call leaf
    # Twice: for the honest return, and for the stale one.
    lea 0x100(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    inc %edx
    cmp $2,%edx
    je 1f
    ret
1:  lea 8(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    mov $7,%eax
    ret
leaf:
    ret
