.include "object.inc"

file_start: object_header 6, 5
section 0, 0, 0, 0, 0
section 1, 1, 6, code-file_start, 8, 0, 0, 16
section 7, 2, 0, symbols-file_start, 48, 4, 1, 8, 24
section 15, 4, 0x40, relocations-file_start, 24, 2, 1, 8, 24
section 1, 3, 0, names-file_start, names_end-names
section 1, 3, 0, names-file_start, names_end-names
code: .fill 8,1,0x90
symbols: .zero 24
.long 1
.byte 0x12, 0
.short 1
.quad 0, 8
relocations: .quad 0x1000000, 0x100000002, -4
names: .byte 0
.asciz "hostile", "other", "more"
names_end:
