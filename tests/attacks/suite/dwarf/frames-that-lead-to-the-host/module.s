function attack
    .cfi_startproc
    .cfi_def_cfa %rdi,8
    .cfi_offset %rip,-8
    ud2
    .cfi_endproc
