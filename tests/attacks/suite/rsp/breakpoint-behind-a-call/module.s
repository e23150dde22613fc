function attack
    sub $8,%rsp
    call 1f
    int3
function next
    ret
1:  ret
