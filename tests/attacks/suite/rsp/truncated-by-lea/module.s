function attack
    lea 8(%esp),%rsp
    ret
