/* The library of tests/hammer.rs: every function is this one. */
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

enum kind { NUMBER, POINTER, CALLED };
struct argument { enum kind kind; uint64_t word; };

static unsigned char memory[1 << 16];
static volatile uint64_t seen[64], functions[16];
static volatile uint64_t state = 88172645463325252u;

static uint64_t any(void)
{
    uint64_t x = state; /* threads may well have the same */
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return state = x;
}

static uint64_t a_word(void)
{
    switch (any() % 12) {
    case 0: return 0;
    case 1: case 2: return any() % 20;
    case 3: return -1;
    case 4: case 5: return (uint64_t)memory + any() % sizeof memory;
    case 6: return ((uint64_t)memory + any() % sizeof memory) & ~(uint64_t)7;
    case 7: case 8: return seen[any() % 64];
    case 9: return ((uint64_t)memory | 0xffffffff) - any() % 64;
    case 10: return (uint64_t)memory + ((uint64_t)8 << 30);
    default: return any();
    }
}

static void scribble(unsigned char *at, unsigned size)
{
    for (unsigned i = 0; i + 8 <= size; i += 8) {
        uint64_t word = any() % 4 ? a_word() : 0;
        memcpy(at + i, &word, 8);
    }
}

static void scribble_all(unsigned char *at, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (unsigned char)any();
}

static uint64_t hostile(const struct argument *arguments, int count)
{
    for (int i = 0; i < count; i++) {
        if (arguments[i].kind != NUMBER || any() % 8 == 0)
            seen[any() % 64] = arguments[i].word;
        if (arguments[i].kind == CALLED && arguments[i].word)
            functions[any() % 16] = arguments[i].word;
        if (arguments[i].kind == POINTER && arguments[i].word && any() % 2)
            scribble((unsigned char *)arguments[i].word, 8 + any() % 2 * 8);
    }
    for (uint64_t rounds = any() % 16 ? 1 : 300; rounds; rounds--)
        scribble(memory + any() % (sizeof memory - 256), 8 + any() % 200);
    if (any() % 16 == 0)
        memset(memory, (int)any(), sizeof memory);
    uint64_t call = functions[any() % 16];
    if (call && any() % 2)
        ((uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t))call)(a_word(), a_word(), a_word(), a_word(), a_word(), a_word());
    return a_word();
}
