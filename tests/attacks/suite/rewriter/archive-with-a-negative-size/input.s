.ascii "!<arch>\n"
.ascii "hostile.o/      0           0     0     100644  -8        `\n"
.quad 0
