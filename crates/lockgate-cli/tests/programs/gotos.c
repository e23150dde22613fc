// Functions with computed gotos that go on in other functions through pointers.
#include <stdio.h>

typedef unsigned long word;
typedef word (*function)(word, int);

struct words {
    word of[7];
};

__attribute__((noinline)) static word sum(struct words words, word more)
{
    return words.of[2] + more;
}

__attribute__((noinline)) static word times(word value, int by)
{
    return value * (by + 3);
}

__attribute__((noinline)) static word plus(word value, int by)
{
    return value + by;
}

static function table[] = {times, plus};

__attribute__((noinline)) static word stepped(word value)
{
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

// The jumps, and what makes the frame an aligned one, whose size is computed.
#define STEPS(value) \
    { \
        static void *const steps[] = {&&one, &&two, &&three}; \
        goto *steps[(value) % 3]; \
    one: \
        value += 3; \
    two: \
        value += stepped(value); \
    three: \
        value += 2; \
    }
#define ALIGNED(value) \
    { \
        _Alignas(64) volatile word kept[8]; \
        struct words words = {{value, 2, 3, 4}}; \
        for (int i = 0; i < 8; i++) kept[i] = value * i; \
        value += sum(words, value); \
        for (int i = 0; i < 8; i++) value += kept[i]; \
    }

__attribute__((noinline)) static word plain(word value, int by)
{
    STEPS(value)
    return table[value & 1](value, by);
}

__attribute__((noinline)) static word aligned(word value, int by)
{
    ALIGNED(value)
    STEPS(value)
    return table[value & 1](value, by);
}

__attribute__((noinline)) static word called(word value, int by)
{
    ALIGNED(value)
    STEPS(value)
    return plus(value, by);
}

int main(void)
{
    word all = 0;
    for (int i = 0; i < 30; i++)
        all = all * 31 + plain(i, i) + aligned(i, i) * 3 + called(i, i) * 5;
    printf("%lx\n", all);
    return 0;
}
