#include <setjmp.h>
static jmp_buf buffer;
static volatile int jumped;
__attribute__((noinline)) static long set(void) { return setjmp(buffer); }
__attribute__((noinline)) static long deeper(long n) { volatile long own[64]; own[0] = n; return n ? deeper(n - 1) + own[0] : 0; }
long attack(void)
{
    if (set() && jumped > 3)
        return 0;
    deeper(8);
    if (jumped++ < 8)
        longjmp(buffer, 1);
    return 0;
}
