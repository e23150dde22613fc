more_notes = 1
.macro more_notes_here
note 3, .ascii, "16 long host(long)"
note 5, .ascii, "0000000000000000000000000000000000000000000000000000000000000000  base.lg"
.endm
.include "../elf/module.inc"
