#include <time.h>
long attack(void)
{
    struct timespec now;
    for (;;)
        clock_gettime(CLOCK_MONOTONIC, &now);
}
