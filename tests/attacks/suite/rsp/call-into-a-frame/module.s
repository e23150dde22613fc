function attack
    call 1f
    ret
function framed
    sub $8,%rsp
1:  nop
    add $8,%rsp
    ret
