// A module with a thread of its own that calls the host for ever.
// flags: --gate 'long host_tick(long)'
#include <pthread.h>

long host_tick(long n);

static void *run(void *unused)
{
    for (long n = 0;; n++)
        host_tick(n);
    return unused;
}

int start(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, run, NULL);
}
