function attack
    checked_call base="addr32 add %gs:0x40008,%r11"
1:  ret
