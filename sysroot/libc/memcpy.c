/* memcpy in blocks: musl's moves single bytes until its destination is aligned, and has the processor start a string instruction for a
   few words. Both ends of a short copy are moved whole, and may overlap. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef long long block __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t eight __attribute__((aligned(1), may_alias));
typedef uint32_t four __attribute__((aligned(1), may_alias));

/* From here on the processor's own copy is quicker. */
enum { LARGE = 2048 };

/* The first and the last bytes as one value each, both read before either is written. */
#define ENDS(type)                                                                                                             \
    do {                                                                                                                       \
        type first = *(const type *)from, last = *(const type *)(from + size - sizeof(type));                                  \
        *(type *)to = first;                                                                                                   \
        *(type *)(to + size - sizeof(type)) = last;                                                                            \
    } while (0)

void *memcpy(void *restrict destination, const void *restrict source, size_t size) {
    char *to = destination;
    const char *from = source;
    if (size >= LARGE) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
    } else if (size > sizeof(block)) {
        block last = *(const block *)(from + size - sizeof(block));
        char *end = to + size - sizeof(block);
        for (; to < end; to += sizeof(block), from += sizeof(block)) *(block *)to = *(const block *)from;
        *(block *)end = last;
    } else if (size == sizeof(block)) {
        *(block *)to = *(const block *)from;
    } else if (size >= 8) {
        ENDS(eight);
    } else if (size >= 4) {
        ENDS(four);
    } else if (size) {
        char middle = from[size / 2], last = from[size - 1];
        *to = *from;
        to[size / 2] = middle;
        to[size - 1] = last;
    }
    return destination;
}
