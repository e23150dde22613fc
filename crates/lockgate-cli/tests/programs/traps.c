// What tests/traps.rs lets fail: checks of the code model. Line numbers matter: each place is marked with its case.
#include <stddef.h>
#include <stdint.h>

typedef int function(int);

static int twice(int n)
{
    return 2 * n;
}

// Past the label at the start of a function, if `bad`.
static function *pointer(int bad)
{
    uintptr_t at = (uintptr_t)twice;
    __asm__("" : "+r"(at));
    return (function *)(at + (bad ? 6 : 0));
}

_Noreturn static void stop(int status)
{
    for (volatile int spins = 0; spins <= status; spins = 0)
        ;
    __builtin_trap();
}

static volatile int count;

extern function missing __attribute__((weak));

// One function, many checks, all with returns, calls and switches between them.
int fail(int which)
{
    int sum = pointer(which == 0)(which); // CASE 0
    if (sum > 1000)
        return sum;
    sum += pointer(which == 1)(which); // CASE 1
    for (int i = 0; i < 2; i++)
        sum += pointer(which == 2)(i) + // CASE 2
            pointer(which == 3)(i); // CASE 3
    switch (sum & 0x80000000 ? 8 : which) {
    case 0: case 9: sum ^= 3; break;
    case 1: sum += 4; break;
    case 2: sum *= 3; break;
    case 3: return 7;
    case 4: return missing(sum); // CASE 4
    case 5: case 6: sum -= 6; break;
    case 7: sum <<= 1; break;
    case 8: sum /= 3; break;
    }
    if (which == 5)
        return pointer(1)(sum); // CASE 5
    return sum + twice(which);
}

// The bound of a switch that has none in the source.
int unbounded(unsigned which)
{
    switch (which) { // CASE 6
    case 0: return count++;
    case 1: return --count;
    case 2: return count += 18;
    case 3: return count *= 5;
    case 4: return count;
    case 5: return count = 77;
    default: __builtin_unreachable();
    }
}

// No place after the check that control does not reach.
int ends_in_a_call(int which)
{
    if (which != 7)
        stop(which);
    volatile int result = pointer(1)(which); // CASE 7
    stop(result);
}
