/* Names of glibc's that the libraries of gfortran and gnat refer to, and musl has not. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

int fcntl64(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return fcntl(descriptor, command, argument);
}

/* CPU_ALLOC and CPU_FREE. */
void *__sched_cpualloc(size_t processors) { return calloc(processors / (8 * sizeof(long)) + 1, sizeof(long)); }

void __sched_cpufree(void *set) { free(set); }

/* What libraries a program has loaded: it loads none. */
struct r_debug _r_debug;

/* libquadmath wants to teach printf its type, and goes on without. */
static int refused(void) {
    errno = ENOSYS;
    return -1;
}

int register_printf_modifier(const wchar_t *letters) {
    (void)letters;
    return refused();
}

int register_printf_specifier(int letter, void *print, void *sizes) {
    (void)letter, (void)print, (void)sizes;
    return refused();
}

int register_printf_type(void *take) {
    (void)take;
    return refused();
}
