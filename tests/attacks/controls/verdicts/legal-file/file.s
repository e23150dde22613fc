.include "../../suite/elf/module.inc"
