more_notes = 1
.macro more_notes_here
.long 0xfffffff4, 0, 3
.endm
.include "../elf/module.inc"
