function attack
1:  lea attack(%rip),%rax
    lea -0x1000(%rsp),%rsp
    checked_call load="mov %gs:(%eax),%r11d" leave="jne 2f" take="mov %eax,%r11d" go="jmp *%r11"
2:  ud2
    ret
