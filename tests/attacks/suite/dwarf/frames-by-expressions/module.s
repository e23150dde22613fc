function attack
    .cfi_startproc
    # DW_CFA_def_cfa_expression: DW_OP_breg5 0, DW_OP_deref, DW_OP_skip -6.
    .cfi_escape 0x0f, 6, 0x75, 0, 0x06, 0x2f, 0xfa, 0xff
    ud2
    .cfi_endproc
