// A module with a thread of its own that calls the host for ever.
// flags: --gate 'long host_tick(long)'
#include <pthread.h>
#include <stdint.h>

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

// One that calls a function when it is told to, and says so.
static int (*held)(int);
static volatile int32_t *flags;

static void *ring(void *unused)
{
    while (!flags[0]) {}
    flags[1] = 1;
    held(1);
    return unused;
}

int start_ring(int (*function)(int), volatile int32_t *shared)
{
    pthread_t thread;
    held = function;
    flags = shared;
    return pthread_create(&thread, NULL, ring, NULL);
}

int call(int (*function)(int), int x) { return function(x); }

// One that crashes.
static void *broken(void *unused) { *(volatile int *)0 = 1; return unused; }

int start_broken(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, broken, NULL);
}
