/* The end of a program is that of a library (start/fini.c), and the exit. */
#include <stdlib.h>

void _lg_fini(void);

_Noreturn void exit(int status) {
    _lg_fini();
    _Exit(status);
}
