/* memmove without the direction flag, which no module may set (a fault or a time-out would hand it to the host). Regions
   that overlap are copied 16 bytes at a time, each block read before anything behind it is written. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef long long block __attribute__((vector_size(16), aligned(1), may_alias));

void *memmove(void *destination, const void *source, size_t size) {
    char *to = destination;
    const char *from = source;
    uintptr_t ahead = (uintptr_t)to - (uintptr_t)from;
    if (ahead >= size && -ahead >= size) return memcpy(destination, source, size);
    if (ahead >= size) {
        for (; size >= sizeof(block); size -= sizeof(block), to += sizeof(block), from += sizeof(block))
            *(block *)to = *(const block *)from;
        while (size--) *to++ = *from++;
    } else {
        for (; size >= sizeof(block); size -= sizeof(block))
            *(block *)(to + size - sizeof(block)) = *(const block *)(from + size - sizeof(block));
        while (size--) to[size] = from[size];
    }
    return destination;
}
