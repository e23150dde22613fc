more_notes = 1
.macro more_notes_here
.long 9, 0xfffffff0, 3
.asciz "Lockgate"
.balign 4
.endm
.include "../elf/module.inc"
