/* exit in C++: first the destructors of the thread's own objects. */
#include <stdlib.h>

void _lg_fini(void);

_Noreturn void exit(int status) {
    _lg_fini();
    _Exit(status);
}
