/* The module of `lockgate-bench soak`: arguments and results of every class, state that one call leaves for the next, ways to
 * crash. The host knows what each answer has to be (crates/lockgate-bench/src/soak/callee.rs). */
#include <stdint.h>
#include <stdlib.h>

static inline uint64_t rotated(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* Integers in registers and on the stack. */
uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    return a ^ rotated(b, 8) ^ rotated(c, 16) ^ rotated(d, 24) ^ rotated(e, 32) ^ rotated(f, 40) ^ rotated(g, 48) ^ rotated(h, 56);
}

/* Floating-point numbers in registers and on the stack. */
double weigh(double a, double b, double c, double d, double e, double f, double g, double h, double i)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

/* A result in memory. */
struct spread { uint64_t a, b, c, d; };
struct spread spread(uint64_t seed)
{
    return (struct spread){seed, ~seed, seed + 1, rotated(seed, 32)};
}

/* State: each slot keeps what was put there last. */
static uint64_t slots[1024];
uint64_t exchange(uint32_t slot, uint64_t value)
{
    uint64_t before = slots[slot % 1024];
    slots[slot % 1024] = value;
    return before;
}

/* One number, for domains that call each other. */
uint64_t fold(uint64_t x)
{
    uint64_t numbers[8];
    for (unsigned n = 0; n < 8; n++)
        numbers[n] = (n ? rotated(x, n * 7) : x) + n;
    return numbers[0] ^ rotated(numbers[1], 8) ^ rotated(numbers[2], 16) ^ rotated(numbers[3], 24) ^ rotated(numbers[4], 32)
        ^ rotated(numbers[5], 40) ^ rotated(numbers[6], 48) ^ rotated(numbers[7], 56);
}

/* A callback, or a call of another domain. */
uint64_t ask(uint64_t (*back)(uint64_t), uint64_t x)
{
    return back(x) + 1;
}

static uint64_t recurse(volatile char *above)
{
    volatile char here[4096];
    here[0] = above[0];
    return recurse(here) + (uint64_t)here[0];
}

/* Ends the call. */
uint64_t crash(uint32_t how)
{
    volatile int *volatile nothing = 0;
    volatile int eight = 8, zero = 0;
    volatile char byte = 1;
    switch (how) {
    case 0:
        *nothing = 1;
        break;
    case 1:
        __builtin_trap();
    case 2:
        eight = eight / zero;
        break;
    case 3:
        recurse(&byte);
        break;
    case 5:
        for (;;)
            eight++;
    default:
        abort();
    }
    return 0;
}
