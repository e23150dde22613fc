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

/* Whether a word is a lock of libc's that it waits for as it does for what is a module's: the list of threads, or what unmaps memory waits for. */
static inline int is_libcs(volatile int *word) {
    return word == &__thread_list_lock || (&__vmlock_lockptr && word == __vmlock_lockptr);
}

/* By what it is called: a new thread waits for the one that makes it (pthread_create), or for who changes a condition variable. Either may have
   been ended. */
static inline int is_for_a_moment(volatile int *waiters, int value, int is_private) { return !waiters && value == 2 && is_private; }

/* Waits while a word has this value: musl's, but that the runtime knows such a wait for a lock of libc's, or for another thread's next step. */
void __wait(volatile int *word, volatile int *waiters, int value, int is_private) {
    for (int spins = 100; spins && !(waiters && *waiters); spins--) {
        if (*word != value) return;
        __builtin_ia32_pause();
    }
    if (waiters) __atomic_add_fetch(waiters, 1, __ATOMIC_SEQ_CST);
    int operation = is_private ? LG_FUTEX_WAIT | LG_FUTEX_PRIVATE : LG_FUTEX_WAIT;
    while (*word == value) {
        if (is_libcs(word)) lg_wait_for_lock(word, value);
        else if (is_for_a_moment(waiters, value, is_private))
            lg_call6(SYS_futex, (long)word, operation, value, 0, 0, LG_FUTEX_PEERS);
        else lg_call4(SYS_futex, (long)word, operation, value, 0);
    }
    if (waiters) __atomic_sub_fetch(waiters, 1, __ATOMIC_SEQ_CST);
}
