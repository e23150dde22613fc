# The first labelled stub lies 512 stubs of 16 bytes behind 0x12000.
function attack
    mov $0x14004,%edi
    mov $1,%eax
    checked_call
    ret
1:  ud2
