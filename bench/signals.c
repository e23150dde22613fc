/* `calls.signal`: a program that sends itself signals, and handles them. */
#include <signal.h>

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
