/* The locks inside libc (the allocator's, the lists' of open files, threads and exit functions), biased. A word is 0 (free), 1 (held)
   or 2 (held, and somebody may wait). */
#include "biased.h"
#include "call.h"

/* Here, because every module has this member: libc's own lists need it. */
struct lg_bias lg_bias;

void __lock(volatile int *word) {
    int need = __libc.need_locks;
    if (!need) return;
    int old = lg_take(word, 1);
    /* The last other thread has ended: this one may do without locks when it has given this one back. */
    if (need < 0) __libc.need_locks = 0;
    if (old == 0) return;
    while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE)) lg_wait_for_lock(word, 2);
}

void __unlock(volatile int *word) {
    if (*word && lg_give_back(word) == 2) lg_call3(SYS_futex, (long)word, LG_FUTEX_WAKE, 1);
}
