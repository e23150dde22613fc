/* `calls.switch`: two contexts that take turns. */
#include <ucontext.h>

static ucontext_t own, other;
static char room[65536];

static void turns(void)
{
    for (;;)
        swapcontext(&other, &own);
}

/* n switches, there and back. */
long switch_many(long n)
{
    static int made;
    if (!made) {
        getcontext(&other);
        other.uc_stack.ss_sp = room;
        other.uc_stack.ss_size = sizeof room;
        makecontext(&other, turns, 0);
        made = 1;
    }
    for (volatile long left = n; left > 0; left -= 2)
        swapcontext(&own, &other);
    return 0;
}
