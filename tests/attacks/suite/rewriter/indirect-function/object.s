.globl attack
.type attack,@function
attack:

    jmp hostile
    .globl hostile
    .type hostile,@gnu_indirect_function
hostile:
    lea attack(%rip),%rax
    ret
