/* memcmp in blocks; musl's compares byte by byte. */
#include "bytes.h"
#include <string.h>

static inline int order(const unsigned char *a, const unsigned char *b, size_t at) {
    return a[at] - b[at];
}

/* The first and the last bytes as numbers, the most significant first. */
#define ENDS(type, swapped)                                                                                                    \
    for (size_t i = 0;; i = size - sizeof(type)) {                                                                             \
        type x = *(const type *)(a + i), y = *(const type *)(b + i);                                                           \
        if (x != y) return swapped(x) < swapped(y) ? -1 : 1;                                                                   \
        if (i == size - sizeof(type)) return 0;                                                                                \
    }

int memcmp(const void *first, const void *second, size_t size) {
    const unsigned char *a = first, *b = second;
    if (size >= BLOCK) {
        for (size_t i = 0;;) {
            unsigned different = same(load(a + i), load(b + i)) ^ 0xffff;
            if (different) return order(a, b, i + (size_t)__builtin_ctz(different));
            if (i == size - BLOCK) return 0;
            i = i + 2 * BLOCK <= size ? i + BLOCK : size - BLOCK;
        }
    }
    if (size >= 8) ENDS(eight, __builtin_bswap64)
    if (size >= 4) ENDS(four, __builtin_bswap32)
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i]) return order(a, b, i);
    return 0;
}
