/* What starts a process or a thread, or ends in the middle of one. Threads run on stack slots that the runtime provides; there are
   no processes. musl's versions build stack frames by hand. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/types.h>

#include "biased.h"
#include "call.h"

/* libstdc++'s (c++/single_threaded.c), in modules that have it. */
extern char __libc_single_threaded __attribute__((weak, visibility("hidden")));

/* pthread_create; posix_spawn, which fails with ENOSYS. The thread begins in _lg_thread_start. Of `stack`, only what it begins
   with is used. */
int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...) {
    va_list rest;
    va_start(rest, argument);
    pid_t *parent = va_arg(rest, pid_t *);
    void *thread_pointer = va_arg(rest, void *);
    int *child = va_arg(rest, int *);
    va_end(rest);
    if (!(flags & CLONE_THREAD)) return -ENOSYS;
    struct lg_start *start = (struct lg_start *)((uintptr_t)stack & -sizeof(long)) - 1;
    uint64_t mask;
    __block_all_sigs(&mask);
    *start = (struct lg_start){function, argument, thread_pointer, mask};
    if (&__libc_single_threaded) __libc_single_threaded = 0;
    /* Either the locks are shared already, or this is the only thread, in the middle of no lock. */
    lg_bias.shared = LG_SHARED;
    int number = (int)lg_call6(SYS_clone, flags, (long)start, (long)parent, (long)child, (long)thread_pointer, 0);
    __restore_sigs(&mask);
    return number;
}

/* pthread_exit, in modules with pthread_create, whose member it is of. */
__attribute__((weak)) _Noreturn void __pthread_exit(void *result) {
    (void)result;
    for (;;) lg_call3(SYS_exit, 0, 0, 0);
}

/* Where the runtime starts a thread that __clone asked for, and ends one that the host has ended (lockgate_abi::symbol::THREAD_START). */
void _lg_thread_start(struct lg_start *start) {
    if (!start) __pthread_exit(PTHREAD_CANCELED);
    __set_thread_area(start->thread_pointer);
    __restore_sigs(&start->mask);
    start->function(start->argument); /* ends with the system call exit */
    for (;;) lg_call3(SYS_exit, 0, 0, 0);
}

pid_t vfork(void) {
    errno = ENOSYS;
    return -1;
}

/* End of a detached thread, whose stack is elsewhere. */
_Noreturn void __unmapself(void *base, size_t size) {
    lg_call3(SYS_munmap, (long)base, (long)size, 0);
    for (;;) lg_call3(SYS_exit, 0, 0, 0);
}
