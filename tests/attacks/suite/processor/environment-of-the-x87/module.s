# The instruction's address, its selector, the operand's address: all zero, or the module's own.
function attack
    fnstenv -64-OFF(%rsp)
    mov -64+12-OFF(%rsp),%eax
    or -64+20-OFF(%rsp),%eax
    ret
