/* memcpy and memmove in blocks. musl's memcpy moves single bytes until its destination is aligned, and has the processor start a string
   instruction for a few words; its memmove sets the direction flag, which no module may (a fault or a timeout would hand it to the host).
   Up to 128 bytes, all are read before any is written, so that it is all the same whether the regions overlap. */
#include "bytes.h"
#include <string.h>

/* From here on the processor's own copy is quicker, if the regions are apart. */
enum { LARGE = 2048 };

/* How far ahead of its source, but for whole pages, a destination may not begin: there Zen 3 copies a byte or two a cycle. */
enum { PAGE = 4096, TOO_NEAR = 64 };

/* The first and the last bytes as one value each, which may overlap. */
#define ENDS(type)                                                                                                             \
    do {                                                                                                                       \
        type first = *(const type *)source, last = *(const type *)(source + size - sizeof(type));                              \
        *(type *)to = first;                                                                                                   \
        *(type *)(to + size - sizeof(type)) = last;                                                                            \
    } while (0)

/* Less than a block. */
static inline void few(char *to, const char *source, size_t size) {
    if (size >= 8) {
        ENDS(eight);
    } else if (size >= 4) {
        ENDS(four);
    } else if (size) {
        char first = *source, middle = source[size / 2], last = source[size - 1];
        *to = first;
        to[size / 2] = middle;
        to[size - 1] = last;
    }
}

/* Four blocks. */
struct quad {
    __m128i a, b, c, d;
};

static inline struct quad read(const char *at) {
    return (struct quad){load(at), load(at + BLOCK), load(at + 2 * BLOCK), load(at + 3 * BLOCK)};
}

static inline void write(char *at, struct quad quad) {
    store(at, quad.a);
    store(at + BLOCK, quad.b);
    store(at + 2 * BLOCK, quad.c);
    store(at + 3 * BLOCK, quad.d);
}

enum { QUAD = sizeof(struct quad) };

/* More than two quads. */
static void many(char *to, const char *source, size_t size) {
    size_t ahead = (size_t)(to - source);
    struct quad first = read(source), last = read(source + size - QUAD);
    char *end = to + size - QUAD;
    if (ahead >= size && -ahead >= size && size >= LARGE && (ahead - 1) % PAGE >= TOO_NEAR - 1) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(source), "+c"(size) : : "memory");
    } else if (ahead >= size) {
        /* What is stored across two lines takes twice as long. */
        size_t aligned = QUAD - (uintptr_t)to % BLOCK;
        char *at = to + aligned;
        for (source += aligned; at < end; at += QUAD, source += QUAD) write(at, read(source));
        write(to, first);
        write(end, last);
    } else {
        for (size_t at = size - 2 * QUAD; (ptrdiff_t)at > 0; at -= QUAD) write(to + at, read(source + at));
        write(end, last);
        write(to, first);
    }
}

/* The smallest sizes come first: most copies are of some bytes. */
void *memmove(void *destination, const void *from, size_t size) {
    char *to = destination;
    const char *source = from;
    if (size < BLOCK) {
        few(to, source, size);
    } else if (size <= 2 * BLOCK) {
        __m128i first = load(source), last = load(source + size - BLOCK);
        store(to, first);
        store(to + size - BLOCK, last);
    } else if (size <= QUAD) {
        __m128i first = load(source), second = load(source + BLOCK);
        __m128i third = load(source + size - 2 * BLOCK), last = load(source + size - BLOCK);
        store(to, first);
        store(to + BLOCK, second);
        store(to + size - 2 * BLOCK, third);
        store(to + size - BLOCK, last);
    } else if (size <= 2 * QUAD) {
        struct quad first = read(source), last = read(source + size - QUAD);
        write(to, first);
        write(to + size - QUAD, last);
    } else {
        many(to, source, size);
    }
    return destination;
}

/* Weak, as a program may have one of its own. */
void *memcpy(void *restrict destination, const void *restrict source, size_t size) __attribute__((weak, alias("memmove")));
