/* `calls.signal`, `calls.timer`: a program that sends itself signals and has timers send some, and handles them. */
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile long handled;

static void handle(int signal)
{
    handled++;
}

long raise_many(long n)
{
    handled = 0;
    signal(SIGUSR1, handle);
    for (long i = 0; i < n; i++)
        raise(SIGUSR1);
    return handled;
}

static volatile long begun;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void begin(int signal)
{
    begun = now();
}

/* Has a timer send its signal in a millisecond; when that is due. */
long arm(void)
{
    const struct itimerval timer = {{0, 0}, {0, 1000}};
    signal(SIGALRM, begin);
    begun = 0;
    long due = now() + 1000000;
    setitimer(ITIMER_REAL, &timer, 0);
    return due;
}

/* Nanoseconds from then, or from another time, until its handler begins, which interrupts this loop without calls. */
long wait_for_it(long since)
{
    while (!begun)
        ;
    return begun - since;
}

long delay(void)
{
    return wait_for_it(arm());
}
