# What calls and what is called, with every register chosen and written down: crates/lockgate-fuzz/src/targets/proxy.rs.
# VECTOR, MOVE: ymm and vmovups, or xmm and movups; STATE: whether MXCSR is touched; OFF, W: of the code model.
#
# In the code model, as it is linked: what a call leaves in r10 and r11 has to be seen, and the rewriter keeps for its input what that has there.
    .data
    .balign 64
area:
seen: .fill 640
give: .fill 640
out: .fill 640
back: .fill 640
seen_stack: .fill 256
give_stack: .fill 256
    .fill 512
    .text

    .macro general operation, buffer
    \operation rax, \buffer+0
    \operation rcx, \buffer+8
    \operation rdx, \buffer+16
    \operation rbx, \buffer+24
    \operation rbp, \buffer+32
    \operation rsi, \buffer+40
    \operation rdi, \buffer+48
    \operation r8, \buffer+56
    \operation r9, \buffer+64
    \operation r10, \buffer+72
    \operation r11, \buffer+80
    \operation r12, \buffer+88
    \operation r13, \buffer+96
    \operation r14, \buffer+104
    \operation r15, \buffer+112
    .endm
    .macro store register, place
    mov %\register,\place(%rip)
    .endm
    .macro load register, place
    mov \place(%rip),%\register
    .endm
    .macro store_all buffer
    general store, \buffer
    .if STATE
    stmxcsr \buffer+120(%rip)
    .endif
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    MOVE %VECTOR\n,\buffer+128+32*\n(%rip)
    .endr
    .endm
    .macro load_all buffer
    .if STATE
    ldmxcsr \buffer+120(%rip)
    .endif
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    MOVE \buffer+128+32*\n(%rip),%VECTOR\n
    .endr
    general load, \buffer
    .endm

    .globl place
    .type place,@function
place:
    endbr64
    lea area(%rip),%rax
    ret

# Writes down what it is called with, and returns what it was told to.
    .globl see
    .type see,@function
see:
    endbr64
    store_all seen
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    mov 8+8*\n-OFF(%rsp),%rax
    mov %rax,seen_stack+8*\n(%rip)
    .endr
    load_all give
    ret

# Calls the function in r10, and writes down what it left.
    .globl through
    .type through,@function
through:
    endbr64
    sub $264,%rsp
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    mov give_stack+8*\n(%rip),%rax
    mov %rax,8*\n-OFF(%rsp)
    .endr
    load_all out
    mov %gs:(%r10d),%r11d
    add $0x5e1f00d,%r11d
    jne nowhere
    mov %r10d,%r11d
    addr32 add %gs:W,%r11
    call *%r11
    store_all back
    add $264,%rsp
    ret
nowhere:
    ud2
    .section .note.GNU-stack,"",@progbits
