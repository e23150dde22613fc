function attack
    ud2
    .section .debug_abbrev,"",@progbits
    # 1 is a unit without children; the others are never used.
    .byte 1, 0x11, 0, 0, 0
    .set at,0
    .rept 126
    .byte at+2, 0x11, 0, 0, 0
    .set at,at+1
    .endr
    many_abbreviations 100000
    many_units 20000
