function attack
1:  lea -0x1000(%rsp),%rsp
    checked_call leave="jne 1b"
    ud2
