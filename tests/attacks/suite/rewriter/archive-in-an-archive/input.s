.ascii "!<arch>\n"
.ascii "inner.a/        0           0     0     100644  8         `\n"
.ascii "!<arch>\n"
