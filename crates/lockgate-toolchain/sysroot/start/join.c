/* Start and end of a module that joins a domain (lockgate_abi::symbol::INIT, FINI): its own constructors and destructors. libc is
   the base's, which is running already. What the module's own code gives atexit is run at the module's end, not at the base's. */
#include <stdatomic.h>
#include <stdlib.h>

#include "../libc/frames.h"

#define HIDDEN __attribute__((visibility("hidden")))

typedef void function(void);
extern function *const __preinit_array_start[] HIDDEN, *const __preinit_array_end[] HIDDEN;
extern function *const __init_array_start[] HIDDEN, *const __init_array_end[] HIDDEN;
extern function *const __fini_array_start[] HIDDEN, *const __fini_array_end[] HIDDEN;

HIDDEN void *__dso_handle;

struct ending {
    struct ending *earlier;
    void (*function)(void *);
    void *argument;
};
static struct ending *_Atomic last;

HIDDEN int __cxa_atexit(void (*function)(void *), void *argument, void *library) {
    (void)library;
    struct ending *ending = malloc(sizeof *ending);
    if (!ending) return -1;
    *ending = (struct ending){atomic_load(&last), function, argument};
    while (!atomic_compare_exchange_weak(&last, &ending->earlier, ending)) {
    }
    return 0;
}

static void run(void *function) { ((void (*)(void))function)(); }

HIDDEN int atexit(void (*function)(void)) { return __cxa_atexit(run, (void *)function, 0); }

/* Its unwind tables, for the base's unwinder. */
extern const unsigned char __lg_frames_start[] HIDDEN, __executable_start[] HIDDEN, etext[] HIDDEN;

void _lg_init(void) {
    __lg_add_frames((uintptr_t)__executable_start, (uintptr_t)etext, __lg_frames_start);
    for (function *const *constructor = __preinit_array_start; constructor < __preinit_array_end;) (*constructor++)();
    for (function *const *constructor = __init_array_start; constructor < __init_array_end;) (*constructor++)();
}

void _lg_fini(void) {
    for (struct ending *ending; (ending = atomic_load(&last));) {
        atomic_store(&last, ending->earlier);
        ending->function(ending->argument);
        free(ending);
    }
    for (function *const *destructor = __fini_array_end; destructor > __fini_array_start;) (*--destructor)();
}
