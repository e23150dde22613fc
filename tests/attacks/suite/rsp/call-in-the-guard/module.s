# Touches 64 KiB above rsp until the next step would fault: the stack has 1 MiB.
function attack
    mov $18,%ecx
1:  lea -0xf000(%rsp),%rsp
    mov %rax,0xf000-OFF(%rsp)
    dec %ecx
    jne 1b
    call attack
    ret
