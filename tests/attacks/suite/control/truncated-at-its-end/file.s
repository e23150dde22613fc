.macro code
endbr64
.fill 0xffa, 1, 0x90
.byte 0x48, 0xb8
.endm
own_code = 1
.include "../elf/module.inc"
