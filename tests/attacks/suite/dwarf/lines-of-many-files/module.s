function attack
    ud2
    .section .debug_line,"",@progbits
    .long 2f-1f
1:  .value 5
    .byte 8, 0
    .long 4f-3f
3:  .byte 1, 1, 1, -5, 14, 13
    .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
    # Directories: one path each, as a string.
    .byte 1, 1, 8
    .uleb128 3
    .byte 0
    .fill 199,1,'a'
    .byte 0
    .fill 199,1,'b'
    .byte 0
    # Files: a path as a string, and the number of a directory in a byte.
    .byte 2, 1, 8, 2, 11
    .uleb128 8 << 20
    .fill 4 << 20,4,0x02000100
4:  .byte 0, 1, 1
2:
