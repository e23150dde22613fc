function attack
    umonitor %rdi
    xor %ecx,%ecx
    umwait %ecx
    ret
