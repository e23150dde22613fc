.macro code
endbr64
.fill 0xffc, 1, 0x90
.endm
own_code = 1
.include "../elf/module.inc"
