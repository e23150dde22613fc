#include "context.h"
#include <setjmp.h>
static jmp_buf place;
static volatile int landed;
static void sets(void) { if (setjmp(place)) landed++; swapcontext(&other, &own); swapcontext(&other, &own); }
long attack(void)
{
    make(sets);
    swapcontext(&own, &other);
    longjmp(place, 1);
    return landed;
}
