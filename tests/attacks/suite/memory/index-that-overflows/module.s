# The address of its own memory, as a sum of more than 2^34.
function attack
    movq $0x666,%gs:(%edi)
    mov $0xfffffff0,%ecx
    mov %rdi,%rdx
    mov $8,%eax
    mul %ecx
    sub %rax,%rdi
    mov $0xfffffff0,%ecx
    mov %gs:(%edi,%ecx,8),%rax
    ret
