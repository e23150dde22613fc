/* Sixteen bytes at a time, for the string functions that are worth it: SSE2, which every x86-64 has. */
#ifndef BYTES_H
#define BYTES_H

#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t eight __attribute__((aligned(1), may_alias));
typedef uint32_t four __attribute__((aligned(1), may_alias));

enum { BLOCK = 16 };

static inline __m128i load(const void *at) {
    return _mm_loadu_si128(at);
}

static inline void store(void *at, __m128i block) {
    _mm_storeu_si128(at, block);
}

/* One bit for each byte of both blocks that is the same. */
static inline unsigned same(__m128i a, __m128i b) {
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b));
}

static inline __m128i repeated(int byte) {
    return _mm_set1_epi8((char)byte);
}

/* The block of the grid that `at` lies in: it can be read as a whole, no page ends inside. */
static inline const char *grid(const void *at) {
    return (const char *)((uintptr_t)at & -(uintptr_t)BLOCK);
}

/* Bits of the bytes of that block that come before `at` are taken away. */
static inline unsigned from(const void *at, unsigned bits) {
    return bits & (~0u << ((uintptr_t)at % BLOCK));
}

#endif
