EXPORT_NOTED = 1
.macro export_note
note 2, .ascii, "struct { struct { struct { struct { char c[1048576]; } x[1048576]; } y[1048576]; } z[1048576]; } attack(void)"
.endm
.include "../elf/module.inc"
