/* What starts a process or a thread, or ends in the middle of one. Threads run on stack slots that the runtime provides; there are
   no processes. musl's versions build stack frames by hand. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "musl.h"

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
    *start = (struct lg_start){function, argument, thread_pointer};
    register int *r10 __asm__("r10") = child;
    register void *r8 __asm__("r8") = thread_pointer;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_clone), "D"((long)flags), "S"(start), "d"(parent), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return (int)result;
}

/* Where the runtime starts a thread that __clone asked for (lockgate_abi::symbol::THREAD_START). */
void _lg_thread_start(struct lg_start *start) {
    __set_thread_area(start->thread_pointer);
    start->function(start->argument); /* ends with the system call exit */
    long result;
    for (;;) __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
}

pid_t vfork(void) {
    errno = ENOSYS;
    return -1;
}

/* End of a detached thread, whose stack is elsewhere. */
_Noreturn void __unmapself(void *base, size_t size) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_munmap), "D"(base), "S"(size) : "rcx", "r11", "memory");
    for (;;) __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
}

/* Return from a signal handler: none ever runs in a domain, but sigaction passes this address to the kernel. */
_Noreturn void __restore_rt(void) { __builtin_trap(); }
