more_notes = 1
.macro more_notes_here
note 3, .ascii, "0 long host(long)"
.endm
.include "../elf/module.inc"
