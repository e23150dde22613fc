.ascii "!<arch>\n"
.ascii "hostile.o/      0           0     0     100644  999999999 `\n"
.quad 0
