.ascii "INPUT(/etc/passwd)\n"
