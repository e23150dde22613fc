/* The end of a program is that of a library (start/fini.c), and the exit. */
#include <stdlib.h>

void _lg_fini(void);

/* The other names of musl's member that has exit: a base asks for all of them. */
__attribute__((weak)) void _fini(void) {}
__attribute__((weak)) void __libc_exit_fini(void) {}

_Noreturn void exit(int status) {
    _lg_fini();
    _Exit(status);
}
