function attack
    mov $1,%ecx
    shl %cl,%rsp
    ret
