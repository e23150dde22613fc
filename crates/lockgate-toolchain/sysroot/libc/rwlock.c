/* pthread_rwlock_rdlock, _wrlock. By their hidden names libc takes locks of its own, those of keys and of what pthread_create goes by: who waits
   for one tells the runtime so. A module's own are waited for as in musl. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "call.h"
#include "musl.h"

/* Of the word, whose top bit says that somebody may wait: how many read, or that one writes. */
#define HOLDERS 0x7fffffff
#define WRITES HOLDERS
#define WAITED (-0x7fffffff - 1)

hidden int __pthread_rwlock_tryrdlock(pthread_rwlock_t *);
hidden int __pthread_rwlock_trywrlock(pthread_rwlock_t *);
hidden int __pthread_rwlock_timedrdlock(pthread_rwlock_t *, const struct timespec *);
hidden int __pthread_rwlock_timedwrlock(pthread_rwlock_t *, const struct timespec *);

static void wait(struct lg_rwlock *lock, int found) {
    int waited = found | WAITED;
    __atomic_add_fetch(&lock->waiters, 1, __ATOMIC_SEQ_CST);
    __atomic_compare_exchange_n(&lock->word, &found, waited, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    lg_wait_for_lock(&lock->word, waited);
    __atomic_sub_fetch(&lock->waiters, 1, __ATOMIC_SEQ_CST);
}

hidden int __pthread_rwlock_rdlock(pthread_rwlock_t *outer) {
    struct lg_rwlock *lock = (struct lg_rwlock *)outer;
    int result;
    while ((result = __pthread_rwlock_tryrdlock(outer)) == EBUSY) {
        int found = lock->word;
        if ((found & HOLDERS) == WRITES) wait(lock, found);
    }
    return result;
}

hidden int __pthread_rwlock_wrlock(pthread_rwlock_t *outer) {
    struct lg_rwlock *lock = (struct lg_rwlock *)outer;
    int result;
    while ((result = __pthread_rwlock_trywrlock(outer)) == EBUSY) {
        int found = lock->word;
        if (found) wait(lock, found);
    }
    return result;
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) { return __pthread_rwlock_timedrdlock(lock, 0); }
int pthread_rwlock_wrlock(pthread_rwlock_t *lock) { return __pthread_rwlock_timedwrlock(lock, 0); }
