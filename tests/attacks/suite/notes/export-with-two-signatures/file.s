more_notes = 1
.macro more_notes_here
note 2, .ascii, "long attack(long)"
.endm
.include "../elf/module.inc"
