/* Robust mutexes: an owner that ends tells the next one, who makes the mutex consistent, or loses it for all. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAY(call) printf(" %s %d\n", #call, call)

static pthread_mutex_t make(int kind) {
    pthread_mutexattr_t how;
    pthread_mutex_t mutex;
    int robust = -1;
    pthread_mutexattr_init(&how);
    SAY(pthread_mutexattr_settype(&how, kind));
    SAY(pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST));
    SAY(pthread_mutexattr_getrobust(&how, &robust));
    SAY(robust);
    SAY(pthread_mutex_init(&mutex, &how));
    return mutex;
}

/* Takes this many of the mutexes, in order, gives back those whose bit is set, and ends. */
static struct { pthread_mutex_t *all; int count; unsigned given; } plan;
static pthread_barrier_t taken;
static void *owner(void *arrives) {
    for (int i = 0; i < plan.count; i++) printf(" %d", pthread_mutex_lock(plan.all + i));
    for (int i = 0; i < plan.count; i++)
        if (plan.given >> i & 1) printf(" %d", pthread_mutex_unlock(plan.all + i));
    if (arrives) {
        pthread_barrier_wait(&taken);
        /* The others wait, or soon: whoever comes later finds the same. */
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, 0);
    }
    return 0;
}

static void *waiter(void *mutex) {
    pthread_barrier_wait(&taken);
    int got = pthread_mutex_lock(mutex);
    if (got == EOWNERDEAD) got = pthread_mutex_consistent(mutex) ? -1 : EOWNERDEAD;
    if (got == 0 || got == EOWNERDEAD) pthread_mutex_unlock(mutex);
    return (void *)(long)got;
}

static void *loses(void *mutex) {
    pthread_barrier_wait(&taken);
    int got = pthread_mutex_lock(mutex);
    if (got == 0 || got == EOWNERDEAD) pthread_mutex_unlock(mutex);
    return (void *)(long)got;
}

static void run(void *(*function)(void *)) {
    pthread_t thread;
    pthread_create(&thread, 0, function, 0);
    pthread_join(thread, 0);
    puts("");
}

int main(int count, char **arguments) {
    /* (musl's own wakes only one of those who wait for a mutex that is lost for all.) */
    int loses_it = count > 1 && !strcmp(arguments[1], "lost");
    const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    for (int i = 0; i < 3; i++) {
        pthread_mutex_t mutex = make(kinds[i]), others[4];
        struct timespec now = {0};
        SAY(pthread_mutex_lock(&mutex));
        SAY(pthread_mutex_consistent(&mutex));
        SAY(pthread_mutex_trylock(&mutex));
        SAY(pthread_mutex_timedlock(&mutex, &now));
        for (int n = 0; n < 4; n++) SAY(pthread_mutex_unlock(&mutex));
        /* Left by one thread, made consistent by the next. */
        plan.all = &mutex, plan.count = 1;
        run(owner);
        SAY(pthread_mutex_trylock(&mutex));
        if (kinds[i] == PTHREAD_MUTEX_RECURSIVE) SAY(pthread_mutex_lock(&mutex));
        SAY(pthread_mutex_consistent(&mutex));
        SAY(pthread_mutex_consistent(&mutex));
        for (int n = 0; n < 3; n++) SAY(pthread_mutex_unlock(&mutex));
        SAY(pthread_mutex_lock(&mutex));
        SAY(pthread_mutex_unlock(&mutex));
        /* Left twice without being made consistent. */
        run(owner);
        run(owner);
        SAY(pthread_mutex_lock(&mutex));
        SAY(pthread_mutex_unlock(&mutex));
        SAY(pthread_mutex_lock(&mutex));
        SAY(pthread_mutex_trylock(&mutex));
        SAY(pthread_mutex_timedlock(&mutex, &now));
        SAY(pthread_mutex_unlock(&mutex));
        SAY(pthread_mutex_destroy(&mutex));
        /* Several of one thread, some of them given back, in each combination. */
        for (unsigned given = 0; given < 16; given++) {
            for (int n = 0; n < 4; n++) {
                pthread_mutexattr_t how;
                pthread_mutexattr_init(&how), pthread_mutexattr_settype(&how, kinds[i]), pthread_mutexattr_setrobust(&how, 1);
                pthread_mutex_init(others + n, &how);
            }
            plan.all = others, plan.count = 4, plan.given = given;
            run(owner);
            for (int n = 0; n < 4; n++) printf(" %d", pthread_mutex_trylock(others + n));
            puts("");
            for (int n = 3; n >= 0; n--) pthread_mutex_consistent(others + n), printf(" %d", pthread_mutex_unlock(others + n));
            puts("");
        }
        plan.given = 0;
    }
    /* Four wait while the owner ends: one hears of it, and the others get the mutex after it, or all lose it. */
    for (int round = 0; round < 4; round++) {
        pthread_t first, threads[4];
        pthread_mutexattr_t how;
        pthread_mutex_t mutex;
        int dead = 0, fine = 0, lost = 0;
        pthread_mutexattr_init(&how), pthread_mutexattr_setrobust(&how, 1);
        pthread_mutex_init(&mutex, &how);
        pthread_barrier_init(&taken, 0, 5);
        plan.all = &mutex, plan.count = 1;
        pthread_create(&first, 0, owner, &mutex);
        for (int n = 0; n < 4; n++) pthread_create(threads + n, 0, loses_it ? loses : waiter, &mutex);
        pthread_join(first, 0);
        for (int n = 0; n < 4; n++) {
            void *got;
            pthread_join(threads[n], &got);
            dead += (long)got == EOWNERDEAD, fine += (long)got == 0, lost += (long)got == ENOTRECOVERABLE;
        }
        printf("\nround %d: %d were told, %d got it, %d lost it\n", round, dead, fine, lost);
        pthread_barrier_destroy(&taken);
    }
    return 0;
}
