.ascii "!<thin>\n"
.ascii "/etc/passwd/    0           0     0     100644  100       `\n"
