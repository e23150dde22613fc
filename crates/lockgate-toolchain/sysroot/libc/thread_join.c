/* pthread_join and its like: musl's, but for how they wait until the thread that has ended lets go of the list of threads. In musl who waits for
   that may be woken in the place of a thread that wants the list itself, and then wakes that one. Where a handler comes in between, and stays
   (as where a collector has stopped the world), the other sleeps on, in pthread_create or at its end, with all signals blocked: a collector
   waits for it for ever. So no handler comes as long as the list is waited for, as everywhere else. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "call.h"
#include "musl.h"

/* (musl's, with cancellation points.) */
hidden long __syscall_cp(long, long, long, long, long, long, long);
hidden int __timedwait_cp(volatile int *word, int value, clockid_t clock, const struct timespec *until, int is_private);

static void wait_for_list(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!__thread_list_lock) return;
    uint64_t before;
    __block_all_sigs(&before);
    __tl_lock();
    __tl_unlock();
    __restore_sigs(&before);
}

static int join(pthread_t outer, void **result, const struct timespec *until) {
    struct lg_pthread *thread = (struct lg_pthread *)outer;
    volatile int *word = &thread->detach_state;
    int state, before, error = 0;
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    if (before == PTHREAD_CANCEL_ENABLE) pthread_setcancelstate(before, NULL);
    while ((state = *word) != LG_EXITED && error != ETIMEDOUT && error != EINVAL) {
        if (state >= LG_DETACHED) __builtin_trap();
        /* The runtime knows a wait that only the thread's end ends. */
        if (until) error = __timedwait_cp(word, state, CLOCK_REALTIME, until, 1);
        else __syscall_cp(SYS_futex, (long)word, LG_FUTEX_WAIT | LG_FUTEX_PRIVATE, state, 0, 0, LG_FUTEX_PEERS);
    }
    pthread_setcancelstate(before, NULL);
    if (error == ETIMEDOUT || error == EINVAL) return error;
    wait_for_list();
    if (result) *result = thread->result;
    if (thread->map_base) munmap(thread->map_base, thread->map_size);
    return 0;
}

/* (C11's thrd_join, and pthread_detach, call this.) */
hidden int __pthread_join(pthread_t thread, void **result) { return join(thread, result, NULL); }

static int try_to_join(pthread_t thread, void **result) {
    return ((struct lg_pthread *)thread)->detach_state == LG_JOINABLE ? EBUSY : join(thread, result, NULL);
}

int pthread_join(pthread_t, void **) __attribute__((weak, alias("__pthread_join")));
int pthread_timedjoin_np(pthread_t, void **, const struct timespec *) __attribute__((weak, alias("join")));
int pthread_tryjoin_np(pthread_t, void **) __attribute__((weak, alias("try_to_join")));
