ABI = 2
.include "../elf/module.inc"
