/* The end of a module (lockgate_abi::symbol::FINI): what musl's exit does, but for the exit; and in C++, first the destructors of the
   thread's own objects. */
#include "../libc/musl.h"

/* Weak, as in musl's exit: a module links the members that have the real ones only if it needs them. */
__attribute__((weak)) void __funcs_on_exit(void) {}
__attribute__((weak)) void __stdio_exit(void) {}
__attribute__((weak)) void _lg_end_thread_locals(void) {}

extern void (*const __fini_array_start[])(void) __attribute__((visibility("hidden")));
extern void (*const __fini_array_end[])(void) __attribute__((visibility("hidden")));

void _lg_fini(void) {
    _lg_end_thread_locals();
    __funcs_on_exit();
    for (void (*const *destructor)(void) = __fini_array_end; destructor > __fini_array_start;) (*--destructor)();
    __stdio_exit();
}
