function attack
    checked_call load="mov %gs:-4(%edi),%r11d"
1:  ret
