/* pthread_once: an initialisation that an exception ends was none, and the next call tries again, as std::call_once wants it.
   (musl's is made without exceptions in mind.) */
#include <limits.h>
#include <pthread.h>

#include "call.h"

enum { NEW, RUNS, DONE, AWAITED };

static void settle(int *word, int state) {
    if (__atomic_exchange_n(word, state, __ATOMIC_SEQ_CST) == AWAITED) lg_call3(SYS_futex, (long)word, LG_FUTEX_WAKE, INT_MAX);
}

struct attempt {
    struct __ptcb handler;
    int over;
};

/* The thread is cancelled. */
static void cancelled(void *word) { settle(word, NEW); }

/* It goes on, or an exception passes. */
static void leave(struct attempt *attempt) { _pthread_cleanup_pop(&attempt->handler, !attempt->over); }

static void run(int *word, void (*initialise)(void)) {
    __attribute__((cleanup(leave))) struct attempt attempt = {.over = 0};
    _pthread_cleanup_push(&attempt.handler, cancelled, word);
    initialise();
    attempt.over = 1;
}

int __pthread_once(pthread_once_t *control, void (*initialise)(void)) {
    int *word = (int *)control;
    for (;;) {
        int state = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        switch (state) {
        case DONE: return 0;
        case NEW:
            if (!__atomic_compare_exchange_n(word, &state, RUNS, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) continue;
            run(word, initialise);
            settle(word, DONE);
            return 0;
        case RUNS:
            if (!__atomic_compare_exchange_n(word, &state, AWAITED, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) continue;
            __attribute__((fallthrough));
        default: lg_call4(SYS_futex, (long)word, LG_FUTEX_WAIT, AWAITED, 0);
        }
    }
}

int pthread_once(pthread_once_t *, void (*)(void)) __attribute__((weak, alias("__pthread_once")));
