SYMBOL_VALUE = 4
.include "../elf/module.inc"
