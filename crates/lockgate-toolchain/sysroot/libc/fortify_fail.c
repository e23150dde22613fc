/* The end of a program that was about to write beyond an object (fortify.h). */
#include "fortify.h"
#include <stdlib.h>
#include <unistd.h>

_Noreturn void __chk_fail(void) {
    static const char message[] = "*** buffer overflow detected ***: terminated\n";
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    abort();
}
