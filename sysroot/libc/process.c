/* What starts a process or a thread, or ends in the middle of one. A domain has neither of its own (threads are the
   host's, attached by _lg_thread_init), so these say so; musl's versions build stack frames by hand. */
#include <errno.h>
#include <sys/types.h>

#include "musl.h"

/* pthread_create, posix_spawn: fails with EAGAIN, ENOSYS. */
int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...) {
    (void)function, (void)stack, (void)flags, (void)argument;
    return -ENOSYS;
}

pid_t vfork(void) {
    errno = ENOSYS;
    return -1;
}

/* End of a detached thread that clone made: there is none. */
_Noreturn void __unmapself(void *base, size_t size) {
    (void)base, (void)size;
    __builtin_trap();
}

/* Return from a signal handler: none ever runs in a domain, but sigaction passes this address to the kernel. */
_Noreturn void __restore_rt(void) { __builtin_trap(); }
