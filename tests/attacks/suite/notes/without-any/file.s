NOTE_SIZE = 0
.include "../elf/module.inc"
