/* pthread_getattr_np: where a thread's stack lies, for those that look through stacks (collectors) or want to know how much is left. musl tells
   of what pthread_create has asked for, which nobody runs on here, and finds the end of the first thread's by mremap. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>

#include "call.h"
#include "code-model.h"
#include "musl.h"

/* include/alltypes.h.in: what the fields of pthread_attr_t are, as src/internal/pthread_impl.h names them. */
struct lg_attributes {
    unsigned long size, guard, address;
    int detached;
};

/* The number of the thread in the first slot: the process's. */
#define LG_FIRST_THREAD lg_call3(SYS_getpid, 0, 0, 0)

int pthread_getattr_np(pthread_t outer, pthread_attr_t *attributes) {
    struct lg_pthread *thread = (struct lg_pthread *)outer;
    struct rlimit stack;
    lg_call4(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&stack);
    uintptr_t window = (uintptr_t)&stack / LG_WINDOW_SIZE * LG_WINDOW_SIZE;
    uintptr_t slot = window + LG_STACKS + (thread->tid - LG_FIRST_THREAD) * (uintptr_t)LG_STACK_SLOT;
    *attributes = (pthread_attr_t){0};
    struct lg_attributes *inside = (struct lg_attributes *)attributes;
    inside->size = stack.rlim_cur;
    /* (musl keeps the end.) */
    inside->address = slot + LG_STACK_TOP;
    inside->guard = thread->guard_size;
    inside->detached = thread->detach_state >= LG_DETACHED;
    return 0;
}
