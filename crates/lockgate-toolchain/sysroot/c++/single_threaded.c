/* glibc's word by which libstdc++ counts references without atomic instructions: true until a program starts a thread. Host threads
   may enter a library at any time. */
#include "../libc/musl.h"

char __libc_single_threaded;

__attribute__((constructor(101))) static void begin(void) { __libc_single_threaded = !__libc.threaded; }
