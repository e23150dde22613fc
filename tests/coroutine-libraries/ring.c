/* Twenty coroutines of libco's, on stacks of their own and on stacks that they are given, hand a number round. */
#include <libco.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 20, ROUNDS = 50, STACK = 64 * 1024 };

static cothread_t first, all[COUNT];
static unsigned number = 1;
static int next;

static unsigned deep(unsigned depth, unsigned value)
{
    volatile unsigned kept = value * 31 + depth;
    if (depth == 0)
        co_switch(next < COUNT ? all[next++] : first);
    else
        value = deep(depth - 1, kept);
    return kept ^ value;
}

static void entry(void)
{
    const int own = next - 1;
    double sum = own;
    for (int round = 0;; round++) {
        sum += round / 3.0;
        number = number * 1664525 + own;
        number ^= deep(own, number);
        if (round % 10 == 0)
            printf("%d %d %u %.3f %d\n", own, round, number, sum, co_active() == all[own]);
    }
}

int main(void)
{
    first = co_active();
    for (int one = 0; one < COUNT; one++)
        all[one] = one % 2 ? co_create(STACK, entry) : co_derive(malloc(STACK), STACK, entry);
    for (int round = 0; round < ROUNDS; round++) {
        next = 0;
        co_switch(all[next++]);
        printf("round %d: %u\n", round, number);
    }
    for (int one = 1; one < COUNT; one += 2)
        co_delete(all[one]);
    return 0;
}
