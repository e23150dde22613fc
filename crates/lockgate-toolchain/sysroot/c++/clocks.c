/* Functions of glibc's that wait until a time of a clock of the caller's choice. musl's wait by CLOCK_REALTIME: if that clock is set
   meanwhile, these are too early or too late by as much. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { SECOND = 1000000000 };

/* `time` of `clock` as one of CLOCK_REALTIME. */
static int real_time(clockid_t clock, const struct timespec *time, struct timespec *real) {
    struct timespec here, there;
    if (time->tv_nsec < 0 || time->tv_nsec >= SECOND) return EINVAL;
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    *real = *time;
    if (clock == CLOCK_REALTIME) return 0;
    clock_gettime(clock, &here);
    clock_gettime(CLOCK_REALTIME, &there);
    if (__builtin_add_overflow(time->tv_sec, there.tv_sec - here.tv_sec, &real->tv_sec)) real->tv_sec = time->tv_sec;
    real->tv_nsec += there.tv_nsec - here.tv_nsec;
    if (real->tv_nsec < 0) {
        real->tv_nsec += SECOND;
        real->tv_sec--;
    }
    if (real->tv_nsec >= SECOND) {
        real->tv_nsec -= SECOND;
        real->tv_sec++;
    }
    return 0;
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time) {
    struct timespec real;
    int error = real_time(clock, time, &real);
    return error ? error : pthread_cond_timedwait(condition, mutex, &real);
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time) {
    struct timespec real;
    int error = real_time(clock, time, &real);
    return error ? error : pthread_mutex_timedlock(mutex, &real);
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time) {
    struct timespec real;
    int error = real_time(clock, time, &real);
    return error ? error : pthread_rwlock_timedrdlock(lock, &real);
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time) {
    struct timespec real;
    int error = real_time(clock, time, &real);
    return error ? error : pthread_rwlock_timedwrlock(lock, &real);
}
