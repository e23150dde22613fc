ABI = 1
.include "../elf/module.inc"
