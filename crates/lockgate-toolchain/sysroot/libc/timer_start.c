/* How timer_create waits for the thread that it makes for SIGEV_THREAD, and that for it, by names that only its member calls (sysroot.rs): musl has
   a barrier for this, in which the thread waits for ever if the call is ended meanwhile. The runtime knows such a wait, so that the thread does
   not count as one that may give a lock of libc's back. */
#include <pthread.h>

#include "call.h"
#include "musl.h"

/* In the maker's frame: so that goes on when the thread has seen that it may, and looks at it no more. */
struct meeting {
    int maker;
    volatile int state;
};
_Static_assert(sizeof(struct meeting) <= sizeof(pthread_barrier_t), "in its place");
enum { MADE = 1, SEEN = 2 };

hidden int __lg_meeting(pthread_barrier_t *outer, const pthread_barrierattr_t *attributes, unsigned count) {
    (void)attributes, (void)count;
    *(struct meeting *)outer = (struct meeting){.maker = lg_self()->tid};
    return 0;
}

static void say(volatile int *state, int what) {
    __atomic_or_fetch(state, what, __ATOMIC_SEQ_CST);
    lg_call3(SYS_futex, (long)state, LG_FUTEX_WAKE | LG_FUTEX_PRIVATE, 1);
}

static void wait_until(volatile int *state, int what) {
    for (int now; !((now = *state) & what);)
        lg_call6(SYS_futex, (long)state, LG_FUTEX_WAIT | LG_FUTEX_PRIVATE, now, 0, 0, LG_FUTEX_PEERS);
}

hidden int __lg_meet(pthread_barrier_t *outer) {
    struct meeting *meeting = (struct meeting *)outer;
    if (meeting->maker == lg_self()->tid) {
        say(&meeting->state, MADE);
        wait_until(&meeting->state, SEEN);
    } else {
        wait_until(&meeting->state, MADE);
        say(&meeting->state, SEEN);
    }
    return 0;
}
