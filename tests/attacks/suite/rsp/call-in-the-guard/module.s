# Touches 60 KiB above rsp until the next step would fault: the stack has 1 MiB.
function attack
    .rept 18
    lea -0xf000(%rsp),%rsp
    mov %rax,0xf000-OFF(%rsp)
    .endr
    call attack
    lea 18*0xf000(%rsp),%rsp
    ret
