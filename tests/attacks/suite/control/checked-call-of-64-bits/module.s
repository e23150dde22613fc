function attack
    checked_call take="mov %rdi,%r11"
1:  ret
