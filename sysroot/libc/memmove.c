/* memmove without the direction flag, which no module may set (a fault or a time-out would hand it to the host). Where
   copying forwards is right, musl's memcpy does it; backwards go 16 bytes at a time. */
#include <stddef.h>
#include <stdint.h>

/* memcpy, promising to copy forwards. */
__attribute__((visibility("hidden"))) void *__memcpy_fwd_alias_1(void *restrict, const void *restrict, size_t);

typedef long long block __attribute__((vector_size(16), aligned(1), may_alias));

void *memmove(void *destination, const void *source, size_t size) {
    if ((uintptr_t)destination - (uintptr_t)source >= size) return __memcpy_fwd_alias_1(destination, source, size);
    char *to = destination;
    const char *from = source;
    for (; size >= sizeof(block); size -= sizeof(block))
        *(block *)(to + size - sizeof(block)) = *(const block *)(from + size - sizeof(block));
    while (size--) to[size] = from[size];
    return destination;
}
