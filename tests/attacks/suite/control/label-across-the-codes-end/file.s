/* Data comes before constants here, and begins with what its dynamic table has as an unknown tag. */
CONST_FLAGS = 6
CONST_OFFSET = 0x2000
DATA_FLAGS = 4
DATA_OFFSET = 0
TABLES = 0x2000
RELOCATION_AT = 0x1200
DYNAMIC_TAG = 0xfa1e0f
.macro code
endbr64
lea file+0x1fff(%rip),%rax
mov %gs:(%eax),%r11d
add $0x05e1f00d,%r11d
jne 1f
mov %eax,%r11d
addr32 add %gs:0x10008,%r11
call *%r11
1: ret
.org 0x1ff2, 0xcc
nop
.org 0x1ffe, 0xcc
.byte 0xeb, 0xf3
.endm
own_code = 1
.include "../elf/module.inc"
