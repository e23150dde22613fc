#include <pthread.h>
static volatile long beats;
static void *beat(void *unused) { for (;;) beats++; return unused; }
long attack(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, 0, beat, 0))
            return 1;
    return 0;
}
long pulse(void) { return beats; }
