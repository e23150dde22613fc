/* The library of tests/differ.rs: what it answers follows from the seed, and from nothing else. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Results begin in the first half, and end in the second: what lies behind is another's, and never twice the same. */
static unsigned char memory[8192] __attribute__((aligned(64)));
static uint64_t state;
static volatile unsigned seen;

static uint64_t draw(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t any(uint64_t below) { return draw() % below; }

void df_seed(uint64_t seed)
{
    state = seed;
    /* (Eight bytes of each draw, of which one in eight is zero: this is done before every call.) */
    for (unsigned i = 0; i < sizeof memory; i += 8) {
        uint64_t bytes = draw(), zeros = draw();
        for (unsigned j = 0; j < 8; j++)
            memory[i + j] = zeros >> (8 * j) & 7 ? bytes >> (8 * j) : 0;
    }
    memset(memory + sizeof memory - 256, 0, 256);
}

static void see(const void *at, size_t size)
{
    for (size_t i = 0; at && i < size; i++)
        seen += ((const unsigned char *)at)[i];
}

/* Bytes that a type may not have, and those that are the least and the most of one. */
static void scribble(void *at, size_t size)
{
    unsigned char *bytes = at;
    unsigned how = any(6);
    for (size_t i = 0; at && i < size; i++)
        bytes[i] = how == 0 ? 0 : how == 1 ? 0xff : how == 2 ? any(3) : how == 3 ? (i % 8 == 7 ? 0x80 : 0) : any(256);
}

static uint32_t a_count(uint32_t most)
{
    switch (any(8)) {
    case 0: return most + 1;
    case 1: return -1;
    case 2: return any(1u << 31);
    default: return any(most + 1);
    }
}

static uint64_t a_place(size_t element)
{
    uint64_t at = (uint64_t)memory;
    switch (any(12)) {
    case 0: return 0;
    case 1: return any(4) ? ~(uint64_t)0 - any(64) : any(4096);
    case 2: return at + ((uint64_t)8 << 30);
    case 3: return at + any(1024) * element + 1;
    case 4: return at + sizeof memory / 2;
    default: return at + any(2048 / element) * element;
    }
}

/* For the program to free: a piece of the heap, most times; its contents end within it. */
static uint64_t a_piece(size_t element)
{
    if (any(8) == 0)
        return a_place(element);
    unsigned char *piece = malloc(128);
    for (int i = 0; piece && i < 128; i++)
        piece[i] = i < 100 && any(8) ? any(256) : 0;
    return (uint64_t)piece;
}

/* What ends a handle follows from that alone: in which order handles end that a call has failed for is each language's affair. */
static int32_t an_end(const void *box)
{
    uint64_t at = ((uint64_t)box - (uint64_t)memory) / 64;
    return at % 3 ? 0 : (int32_t)(at % 5) - 2;
}

/* Of `each`, within what the program gave: most times. */
static uint64_t a_place_in(const void *given, size_t all, size_t each)
{
    uint64_t at = (uint64_t)given;
    switch (any(12)) {
    case 0: return 0;
    case 1: return at + all;
    case 2: return at + 1;
    case 3: return at - each;
    case 4: return (uint64_t)memory;
    case 5: return at + all - each;
    default: return at + any(all / each) * each;
    }
}

/* Numbers, and two texts. */
#define NAME(at)                                          \
    do {                                                  \
        scribble(at, sizeof *(at));                       \
        (at)->first = any(4) ? (void *)a_place(1) : 0;    \
        (at)->second = any(12) ? (void *)a_place(1) : 0;  \
    } while (0)
