function attack
    checked_call load="mov %gs:(%esi),%r11d"
1:  ret
