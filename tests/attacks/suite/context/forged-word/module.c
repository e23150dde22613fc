#include "context.h"
static void waits(void) { for (;;) swapcontext(&other, &own); }
long attack(void)
{
    make(waits);
    swapcontext(&own, &other);
    /* The word of a context that lives, as long as it says nothing else. */
    ucontext_t forged = other;
    *(unsigned long *)&forged += 0x7700;
    return swapcontext(&own, &forged);
}
