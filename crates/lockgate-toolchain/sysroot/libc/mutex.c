/* pthread_mutex_lock, _trylock, _unlock, biased. The word is musl's: 0, or the owner's number (EBUSY in a mutex that does not check
   its owner), with the top bit if somebody may wait. Waiting itself is left to musl's pthread_mutex_timedlock. Mutexes that inherit
   priorities cannot be made in a domain (their attribute fails). */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>

#include "biased.h"
#include "call.h"

#define OWNER 0x3fffffff
/* The owner has ended, as the kernel has it; musl: with all bits of an owner, none may have it any more. */
#define DIED 0x40000000
#define WAITED (-0x7fffffff - 1)
#define LOST (DIED | OWNER)

/* Of a mutex's type, beside its kind. */
#define ROBUST 4
#define SHARED 128

hidden int __pthread_mutex_timedlock(pthread_mutex_t *, const struct timespec *);

static inline struct lg_mutex *inside(pthread_mutex_t *mutex) { return (struct lg_mutex *)mutex; }
static inline int kind(const struct lg_mutex *mutex) { return mutex->type & 3; }
/* As musl waits: in memory that others share, the two kinds of futex are different ones. */
static inline int wake_of(const struct lg_mutex *mutex) {
    return mutex->type & SHARED ? LG_FUTEX_WAKE : LG_FUTEX_WAKE | LG_FUTEX_PRIVATE;
}

/* A robust mutex is on its owner's list while it is held, and named there as pending while that changes: whoever sees the owner end
   (pthread_exit, the runtime) tells the next one. Never plain: that thread may be another's. */
static int try_robust(struct lg_mutex *mutex) {
    struct lg_pthread *self = lg_self();
    int word = mutex->word, owner = word & OWNER;
    if (owner == self->tid && kind(mutex) == PTHREAD_MUTEX_RECURSIVE) {
        if (mutex->count == INT_MAX) return EAGAIN;
        mutex->count++;
        return 0;
    }
    if (owner == OWNER) return ENOTRECOVERABLE;
    if (owner) return EBUSY;
    if (!self->robust_list.offset) {
        self->robust_list.offset = (char *)&mutex->word - (char *)&mutex->next;
        lg_call3(SYS_set_robust_list, (long)&self->robust_list, sizeof self->robust_list, 0);
    }
    self->robust_list.pending = &mutex->next;
    int mine = self->tid | (word & (DIED | WAITED)) | (mutex->waiters ? WAITED : 0);
    if (!__atomic_compare_exchange_n(&mutex->word, &word, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        self->robust_list.pending = 0;
        return EBUSY;
    }
    volatile void *first = self->robust_list.head;
    mutex->next = first;
    mutex->previous = &self->robust_list.head;
    if (first != &self->robust_list.head) ((volatile void *volatile **)first)[-1] = &mutex->next;
    self->robust_list.head = &mutex->next;
    self->robust_list.pending = 0;
    if (!(word & DIED)) return 0;
    mutex->count = 0;
    return EOWNERDEAD;
}

static int unlock_robust(struct lg_mutex *mutex) {
    struct lg_pthread *self = lg_self();
    int word = mutex->word;
    if ((word & OWNER) != self->tid) return EPERM;
    if (kind(mutex) == PTHREAD_MUTEX_RECURSIVE && mutex->count) {
        mutex->count--;
        return 0;
    }
    /* Who got it from a dead owner and has not made it consistent loses it for all. */
    int free = word & DIED ? LOST : 0, waiters = mutex->waiters, waking = wake_of(mutex);
    volatile void *volatile *previous = mutex->previous;
    volatile void *next = mutex->next;
    self->robust_list.pending = &mutex->next;
    *previous = next;
    if (next != &self->robust_list.head) ((volatile void *volatile **)next)[-1] = previous;
    word = __atomic_exchange_n(&mutex->word, free, __ATOMIC_RELEASE);
    self->robust_list.pending = 0;
    if (word < 0 || waiters) lg_call3(SYS_futex, (long)&mutex->word, waking, free ? INT_MAX : 1);
    return 0;
}

static inline int try_lock(struct lg_mutex *mutex) {
    if ((mutex->type & (ROBUST | 3)) == PTHREAD_MUTEX_NORMAL) {
        int free = 0;
        if (!(mutex->type & SHARED)) return lg_take(&mutex->word, EBUSY) ? EBUSY : 0;
        /* Threads of other domains, too. */
        return __atomic_compare_exchange_n(&mutex->word, &free, EBUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ? 0 : EBUSY;
    }
    if (mutex->type & ROBUST) return try_robust(mutex);
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
    if ((mutex->type & (ROBUST | 3)) != PTHREAD_MUTEX_NORMAL) {
        if (mutex->type & ROBUST) return unlock_robust(mutex);
        if ((mutex->word & OWNER) != lg_self()->tid) return EPERM;
        if (kind(mutex) == PTHREAD_MUTEX_RECURSIVE && mutex->count) {
            mutex->count--;
            return 0;
        }
    }
    /* Afterwards the mutex may be gone: whoever gets it next may free it. */
    int waiters = mutex->waiters, waking = wake_of(mutex);
    int word = mutex->type & SHARED ? __atomic_exchange_n(&mutex->word, 0, __ATOMIC_RELEASE) : lg_give_back(&mutex->word);
    if (word < 0 || waiters) lg_call3(SYS_futex, (long)&mutex->word, waking, 1);
    return 0;
}

int pthread_mutex_trylock(pthread_mutex_t *) __attribute__((weak, alias("__pthread_mutex_trylock")));
int pthread_mutex_lock(pthread_mutex_t *) __attribute__((weak, alias("__pthread_mutex_lock")));
int pthread_mutex_unlock(pthread_mutex_t *) __attribute__((weak, alias("__pthread_mutex_unlock")));
