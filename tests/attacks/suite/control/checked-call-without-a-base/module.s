function attack
    checked_call base="nop"
1:  ret
