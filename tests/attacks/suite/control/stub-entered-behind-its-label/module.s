# The first labelled stub lies 512 stubs of 16 bytes behind 0x12000.
function attack
    mov $0x14004,%edi
    mov $1,%eax
    mov %gs:(%edi),%r11d
    add $0x05e1f00d,%r11d
    jne 1f
    mov %edi,%r11d
    addr32 add %gs:0x10008,%r11
    call *%r11
    ret
1:  ud2
