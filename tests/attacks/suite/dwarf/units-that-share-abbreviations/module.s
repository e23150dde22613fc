function attack
    ud2
    .section .debug_abbrev,"",@progbits
    .set code,1
    # 1 is a unit without children; the others are never used.
    .byte 1, 0x11, 0, 0, 0
    .set at,0
    .rept 126
    .byte at+2, 0x11, 0, 0, 0
    .set at,at+1
    .endr
    .rept 100000
    .uleb128 0x80 + code
    .byte 0x11, 0, 0, 0
    .set code,code+1
    .endr
    .byte 0
    .section .debug_info,"",@progbits
    .rept 20000
    .long 8
    .value 4
    .long 0
    .byte 8, 1
    .endr
