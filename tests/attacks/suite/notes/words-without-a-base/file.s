more_notes = 1
.macro more_notes_here
note 6, .ascii, "host long system(char *)"
.endm
.include "../elf/module.inc"
