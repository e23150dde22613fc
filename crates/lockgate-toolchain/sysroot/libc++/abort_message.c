/* How libc++abi ends a program, with or without an exception: it says what libc++abi's says, and lets the error of the call into the
   domain say it, too. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../libc/call.h"

/* `lockgate`'s crates/lockgate-syscall/src/calls/functions.rs. */
enum { LAST_WORDS = 401 };

_Noreturn void abort_message(const char *format, ...) {
    char words[400]; /* several threads may be here at once */
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    fprintf(stderr, "libc++abi: %s\n", words);
    lg_call3(LAST_WORDS, (long)words, (long)strlen(words), 0);
    abort();
}
