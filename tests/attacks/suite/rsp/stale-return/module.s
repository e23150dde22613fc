function attack
    call deep
    # The frame of deep's inner call is gone, its return address is still there.
    lea -0x110(%rsp),%rsp
    ret
deep:
    lea -0x100(%rsp),%rsp
    call leaf
    lea 0x100(%rsp),%rsp
    ret
leaf:
    ret
