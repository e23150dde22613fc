# System call 9999 with rsp 512 bytes lower; it comes back here, with rsp as it was.
function attack
    lea -0x200(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    mov %rsp,%rbx
    mov $9999,%eax
    call *%gs:0x11000
    cmp %rsp,%rbx
    jne 1f
    lea 0x200(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    ret
1:  ud2
