function attack
    checked_call check="cmp $0xfa1e0ff3,%r11d"
1:  ret
