.macro code
endbr64
.fill 0xff7, 1, 0x90
call file+0x1000
.endm
own_code = 1
.include "../elf/module.inc"
