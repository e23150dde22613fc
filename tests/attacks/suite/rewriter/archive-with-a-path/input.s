.ascii "!<arch>\n"
.ascii "../../../evil.o/0           0     0     100644  16        `\n"
.byte 0x7f
.ascii "ELF"
.zero 12
