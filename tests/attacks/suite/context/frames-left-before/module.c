#include "context.h"
static ucontext_t first, second;
static void returns_to_the_first(void) { swapcontext(&other, &first); swapcontext(&other, &first); }
__attribute__((noinline)) static long inner(ucontext_t *here) { volatile long kept[40]; kept[7] = 1; return swapcontext(here, &other) + kept[7]; }
long attack(void)
{
    make(returns_to_the_first);
    inner(&first);
    return inner(&second);
}
