/* Shared by the benchmark programs: arguments, deterministic data, checksums. */
#ifndef BENCH_H
#define BENCH_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Amount of work: the last argument, at least 1. Run time grows linearly with it. */
static inline uint32_t bench_scale(int argc, char **argv)
{
    long scale = argc > 1 ? strtol(argv[argc - 1], NULL, 10) : 1;
    return scale < 1 ? 1 : (uint32_t)scale;
}

/* xorshift64*: the same sequence everywhere, from any seed but 0. */
static inline uint64_t bench_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Dull;
}

/* FNV-1a over bytes, continuing from `hash`. */
static inline uint64_t bench_hash(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001B3ull;
    return hash;
}
#define BENCH_HASH_START 0xCBF29CE484222325ull

/* Fills `data` with text that compresses like prose: words of a small vocabulary, the first ones often. */
static inline void bench_text(unsigned char *data, size_t size)
{
    uint64_t state = 88172645463325252ull;
    char words[1024][12];
    for (int w = 0; w < 1024; w++) {
        int length = 2 + (int)(bench_random(&state) % 9);
        for (int i = 0; i < length; i++)
            words[w][i] = (char)('a' + bench_random(&state) % 26);
        words[w][length] = 0;
    }
    size_t at = 0;
    while (at < size) {
        uint64_t draw = bench_random(&state);
        const char *word = words[(draw & 1023) & (draw >> 10)];
        while (*word && at < size)
            data[at++] = (unsigned char)*word++;
        if (at < size)
            data[at++] = (draw >> 40) % 11 ? ' ' : '\n';
    }
}

/* Ends a program: the only line on stdout. */
static inline int bench_finish(const char *name, uint64_t checksum)
{
    printf("%s %016" PRIx64 "\n", name, checksum);
    return 0;
}

/* Ends a program whose own checks failed. */
static inline void bench_check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "wrong result: %s\n", what);
        exit(1);
    }
}

#endif
