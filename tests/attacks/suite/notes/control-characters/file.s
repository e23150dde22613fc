more_notes = 1
.macro more_notes_here
note 3, .ascii, "16 long host(long)\r\33[2Jforged"
.endm
.include "../elf/module.inc"
