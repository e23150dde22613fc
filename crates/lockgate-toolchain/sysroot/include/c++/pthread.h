/* musl's, and what libstdc++ uses of glibc's besides. */
#include_next <pthread.h>

#ifndef LOCKGATE_PTHREAD_H
#define LOCKGATE_PTHREAD_H

extern "C" {
int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
int pthread_mutex_clocklock(pthread_mutex_t *, clockid_t, const struct timespec *);
int pthread_rwlock_clockrdlock(pthread_rwlock_t *, clockid_t, const struct timespec *);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *, clockid_t, const struct timespec *);
}

#endif
