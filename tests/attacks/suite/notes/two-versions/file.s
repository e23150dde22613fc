more_notes = 1
.macro more_notes_here
note 1, .long, 1, 1
.endm
.include "../elf/module.inc"
