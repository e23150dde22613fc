/* memchr in blocks. */
#include "bytes.h"
#include <string.h>

void *memchr(const void *memory, int byte, size_t size) {
    if (!size) return NULL;
    __m128i wanted = repeated(byte);
    const char *start = memory, *at = grid(memory);
    unsigned found = from(memory, same(load(at), wanted));
    /* `left` counts from the block's start. */
    size_t left = size + (size_t)(start - at);
    if (left < size) left = SIZE_MAX; /* the whole address space from here on */
    while (!found && left > BLOCK) found = same(load(at += BLOCK), wanted), left -= BLOCK;
    size_t index = found ? (size_t)__builtin_ctz(found) : left;
    return index < left ? (void *)(at + index) : NULL;
}
