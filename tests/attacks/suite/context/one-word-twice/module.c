#include "context.h"
static __attribute__((noinline)) long deeper(long n) { volatile long kept[9]; kept[n % 9] = n; if (n) return deeper(n - 1) + kept[n % 9]; swapcontext(&other, &own); return 0; }
static void digs(void) { for (long n = 0;; n += 5) deeper(n); }
long attack(void)
{
    make(digs);
    swapcontext(&own, &other);
    ucontext_t copy = other;
    for (int i = 0; i < 5; i++)
        swapcontext(&own, &other);
    swapcontext(&own, &copy);
    return 0;
}
