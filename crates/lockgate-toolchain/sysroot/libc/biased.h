/* Locks biased towards the first thread (docs/decisions/0048-biased-locks.md).

   While a domain has had one thread only, its libc takes and gives back locks by plain loads and stores, which cost a tenth of
   atomic instructions. A second thread ends that for good before it touches any lock: it writes `shared`, has every processor
   pass a memory barrier (membarrier), and waits until `busy` is 0. The first thread then either sees `shared`, or has shown by
   `busy` that it changes a lock plainly, for a few instructions more. The words of the locks mean the same either way. */
#ifndef LOCKGATE_BIASED_H
#define LOCKGATE_BIASED_H

#include "musl.h"

enum { LG_PLAIN, LG_ENDING, LG_SHARED };

struct lg_bias {
    /* LG_PLAIN; LG_ENDING from the arrival of a second thread on; LG_SHARED when no thread changes locks plainly any more. */
    volatile int shared;
    /* 1 while the only thread changes the word of a lock. */
    volatile int busy;
};
extern hidden struct lg_bias lg_bias;

/* The command MEMBARRIER_CMD_PRIVATE_EXPEDITED of the system call membarrier, a bit in what its query (0) answers. */
#define LG_MEMBARRIER 8

/* Whether the lock's word may be changed by plain instructions until lg_end_plain. */
static inline int lg_begin_plain(void) {
    if (lg_bias.shared) return 0;
    lg_bias.busy = 1;
    if (!lg_bias.shared) return 1;
    lg_bias.busy = 0;
    return 0;
}

static inline void lg_end_plain(void) { lg_bias.busy = 0; }

/* Writes `value` over 0; what was there. */
static inline int lg_take(volatile int *word, int value) {
    int old = 0;
    if (lg_begin_plain()) {
        old = *word;
        if (old == 0) *word = value;
        lg_end_plain();
    } else {
        __atomic_compare_exchange_n(word, &old, value, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    }
    return old;
}

/* Writes 0; what was there. */
static inline int lg_give_back(volatile int *word) {
    int old;
    if (lg_begin_plain()) {
        old = *word;
        *word = 0;
        lg_end_plain();
    } else {
        old = __atomic_exchange_n(word, 0, __ATOMIC_RELEASE);
    }
    return old;
}

#endif
