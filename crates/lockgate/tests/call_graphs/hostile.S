# A frame that keeps nothing of the calling convention: registers, control words and the x87's stack are not what they
# were when it returns, faults, loops or calls the host. What it does follows from its seed, as model.rs says.
.macro wreck
    mov $0x1111111111111111,%rbx
    mov %rbx,%rbp
    mov %rbx,%r12
    mov %rdi,%r13
    mov %rdi,%r14
    mov %rbx,%r15
    movl $0xffc0,-8-OFF(%rsp)
    ldmxcsr -8-OFF(%rsp)
    vpcmpeqd %ymm7,%ymm7,%ymm7
    pending_x87 values=4
.endm

# rdi the seed, rsi the order; rax the value.
.macro hostile
    mov $0xffffffffff,%rax
    and %rdi,%rax
    wreck
    mov %edi,%ecx
    and $3,%ecx
    cmp $2,%ecx
    je 2f
    cmp $3,%ecx
    je 3f
    test $4,%edi
    jz 4f
    test $0x200,%esi
    jz 4f
1:  jmp 1b
2:  test $0x100,%esi
    jz 4f
    ud2
3:  test $0xff,%esi
    jz 4f
    lea -8(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    lea 1(%rdi),%rdi
    lea -1(%rsi),%rsi
    call *%gs:0x11080
    wreck
    lea 8(%rsp),%rsp
    mov %rcx,-OFF(%rsp)
4:
.endm

function plain
    hostile
    ret
function wide
    hostile
    ret
# The value as guest.c encodes it: -value - 1 if it is tainted.
function mixed
    hostile
    mov %rax,%rdx
    mov $0xffffffffff,%rcx
    and %rcx,%rax
    test %rdx,%rdx
    jns 5f
    not %rax
5:  cvtsi2sd %rax,%xmm0
    ret
