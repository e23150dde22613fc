/* The locks of open files, as musl has them, but for how it waits: so that the runtime knows such a wait. A word is 0, or the owner's
   number (or all bits below it, for a while), with a bit if somebody may wait. */
#include "call.h"
#include "musl.h"

#define WAITED_FOR 0x40000000

int __lockfile(FILE *outer) {
    volatile int *word = &((struct lg_file *)outer)->lock;
    int self = lg_self()->tid, found = *word;
    if ((found & ~WAITED_FOR) == self) return 0;
    found = 0;
    if (__atomic_compare_exchange_n(word, &found, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
    for (;;) {
        found = 0;
        if (__atomic_compare_exchange_n(word, &found, self | WAITED_FOR, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
        int waited_for = found | WAITED_FOR;
        if (found == waited_for || __atomic_compare_exchange_n(word, &found, waited_for, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            lg_wait_for_lock(word, waited_for);
    }
}

void __unlockfile(FILE *outer) {
    volatile int *word = &((struct lg_file *)outer)->lock;
    if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) & WAITED_FOR) lg_call3(SYS_futex, (long)word, LG_FUTEX_WAKE, 1);
}
