/* Initialisation of a module that is a library (lockgate_abi::symbol). `stack` is what the kernel gives a new process:
   argc, argv, 0, envp, 0, auxv. */
#include "../libc/biased.h"
#include "../libc/call.h"
#include "../libc/musl.h"
#include "start.h"

void lg_start_libc(long *stack) {
    char **arguments = (char **)(stack + 1);
    char **environment = arguments + stack[0] + 1;
    __init_libc(environment, arguments[0]);
}

static void use_locks(FILE *file) {
    struct lg_file *layout = (struct lg_file *)file;
    if (layout && layout->lock < 0) layout->lock = 0;
}

/* Host threads may enter at any time, so libc takes its locks from the start, as it does after pthread_create.
   (Switching them on when the second thread comes would be too late for a first one inside malloc.) They are biased towards the
   first, if the kernel can end that. */
static void expect_threads(void) {
    long can = lg_call3(SYS_membarrier, 0, 0, 0);
    if (can < 0 || !(can & LG_MEMBARRIER)) lg_bias.shared = LG_SHARED;
    __libc.threaded = 1;
    __libc.threads_minus_1 = 1;
    __libc.need_locks = 1;
    use_locks(__stdin_used);
    use_locks(__stdout_used);
    use_locks(__stderr_used);
}

void _lg_init(long *stack) {
    lg_start_libc(stack);
    /* A barrier, as in musl's own start: nothing below may be hoisted above the thread pointer's initialisation. */
    __asm__ volatile("" : : : "memory");
    expect_threads();
    __libc_start_init();
}
