more_notes = 1
.macro more_notes_here
note 3, .ascii, "16 long harmless(long)"
note 3, .ascii, "16 long dangerous(long)"
.endm
.include "../elf/module.inc"
