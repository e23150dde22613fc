#include "context.h"
#include <setjmp.h>
static jmp_buf place;
static void leaves(void)
{
    if (setjmp(place))
        swapcontext(&other, &own);
    long *words = (long *)place; /* rsp is the seventh */
    words[6] = (words[6] & -(16L << 20)) + (16L << 20) - (256L << 10) - 8;
    longjmp(place, 1);
}
long attack(void)
{
    make(leaves);
    swapcontext(&own, &other);
    return 0;
}
