/* pthread_mutex_lock, _trylock, _unlock, biased. The word is musl's: 0, or the owner's number (EBUSY in a mutex that does not check
   its owner), with the top bit if somebody may wait. Waiting itself is left to musl's pthread_mutex_timedlock. Robust mutexes and
   those that inherit priorities cannot be made in a domain (their attributes fail), so there is no list of a thread's mutexes. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>

#include "biased.h"
#include "call.h"

#define OWNER 0x3fffffff

hidden int __pthread_mutex_timedlock(pthread_mutex_t *, const struct timespec *);

static inline struct lg_mutex *inside(pthread_mutex_t *mutex) { return (struct lg_mutex *)mutex; }
static inline int kind(const struct lg_mutex *mutex) { return mutex->type & 3; }

static inline int try_lock(struct lg_mutex *mutex) {
    if (kind(mutex) == PTHREAD_MUTEX_NORMAL) return lg_take(&mutex->word, EBUSY) ? EBUSY : 0;
    int self = lg_self()->tid;
    int word = mutex->word;
    if (word == 0) return lg_take(&mutex->word, self) ? EBUSY : 0;
    if (kind(mutex) != PTHREAD_MUTEX_RECURSIVE || (word & OWNER) != self) return EBUSY;
    if (mutex->count == INT_MAX) return EAGAIN;
    mutex->count++;
    return 0;
}

int __pthread_mutex_trylock(pthread_mutex_t *mutex) { return try_lock(inside(mutex)); }

int __pthread_mutex_lock(pthread_mutex_t *mutex) {
    int result = try_lock(inside(mutex));
    return result == EBUSY ? __pthread_mutex_timedlock(mutex, 0) : result;
}

int __pthread_mutex_unlock(pthread_mutex_t *outer) {
    struct lg_mutex *mutex = inside(outer);
    if (kind(mutex) != PTHREAD_MUTEX_NORMAL) {
        if ((mutex->word & OWNER) != lg_self()->tid) return EPERM;
        if (kind(mutex) == PTHREAD_MUTEX_RECURSIVE && mutex->count) {
            mutex->count--;
            return 0;
        }
    }
    /* Afterwards the mutex may be gone: whoever gets it next may free it. */
    int waiters = mutex->waiters;
    if (lg_give_back(&mutex->word) < 0 || waiters) lg_call3(SYS_futex, (long)&mutex->word, LG_FUTEX_WAKE, 1);
    return 0;
}

int pthread_mutex_trylock(pthread_mutex_t *) __attribute__((weak, alias("__pthread_mutex_trylock")));
int pthread_mutex_lock(pthread_mutex_t *) __attribute__((weak, alias("__pthread_mutex_lock")));
int pthread_mutex_unlock(pthread_mutex_t *) __attribute__((weak, alias("__pthread_mutex_unlock")));
