function attack
    switch check="cmp $1,%rax" load="movslq (%rcx,%rax,4),%rdx"
function framed
    sub $8,%rsp
    switch check="cmp $1,%rax" load="movslq (%rcx,%rax,4),%rdx"
1:  ud2
3:  endbr64
    ret
    entries 3b, 3b
