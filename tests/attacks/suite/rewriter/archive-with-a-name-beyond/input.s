.ascii "!<arch>\n"
.ascii "/99999999       0           0     0     100644  8         `\n"
.quad 0
