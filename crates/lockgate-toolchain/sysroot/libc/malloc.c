/* malloc and free, with a cache of small blocks for each thread in front of musl's allocator, which checks and locks at each call.
   A block that is freed waits here for the next of its size; musl's allocator takes it for one in use meanwhile. (docs/decisions/0081) */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "musl.h"

/* A module may have an allocator of its own, or a part of one. */
#define weak __attribute__((weak))

/* Sizes of blocks are multiples of UNIT, below UNIT * CLASSES; of each, at most MOST wait. */
enum { UNIT = 16, CLASSES = 33, MOST = 16 };

/* A block that waits. `of` is its thread's cache: in a block in use that is improbable, so a second free() is noticed. */
struct block {
    struct block *next;
    struct cache *of;
};

struct cache {
    struct block *first[CLASSES];
    unsigned char count[CLASSES];
};

/* From the thread's first free() of a small block on. */
static _Thread_local struct cache *cache;

weak void *malloc(size_t size) {
    /* Size 0 is a large one here: musl gives out a block of its own. */
    if (size - 1 >= UNIT * (CLASSES - 1)) return __libc_malloc_impl(size);
    const size_t class = (size + UNIT - 1) / UNIT;
    struct cache *own = cache;
    struct block *block = own ? own->first[class] : NULL;
    if (!block) return __libc_malloc_impl(class * UNIT);
    own->first[class] = block->next;
    own->count[class]--;
    block->of = NULL;
    return block;
}

static void check_for_second_free(struct block *block, size_t class) {
    for (struct block *other = cache->first[class]; other; other = other->next)
        if (other == block) __builtin_trap();
}

weak void free(void *at) {
    if (!at) return;
    /* musl's allocator looks at the block's header here, and traps if it is none. */
    const size_t size = malloc_usable_size(at), class = size / UNIT;
    if (size % UNIT != 0 || class - 1 >= CLASSES - 1) {
        __libc_free(at);
        return;
    }
    if (!cache) {
        cache = __libc_malloc_impl(sizeof *cache);
        if (!cache) {
            __libc_free(at);
            return;
        }
        memset(cache, 0, sizeof *cache);
    }
    struct block *block = at;
    if (block->of == cache) check_for_second_free(block, class);
    if (cache->count[class] == MOST) {
        __libc_free(at);
        return;
    }
    block->next = cache->first[class];
    block->of = cache;
    cache->first[class] = block;
    cache->count[class]++;
}

/* musl's own believes that a block is fresh from the system where its allocator says so. */
weak void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (bytes - 1 >= UNIT * (CLASSES - 1)) return __libc_calloc(count, size);
    void *block = malloc(bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

/* The thread ends: its blocks are everybody's again. In musl this is dlerror's, which is ours, too. */
void __dl_thread_cleanup(void) {
    struct cache *own = cache;
    if (!own) return;
    cache = NULL;
    for (size_t class = 1; class < CLASSES; class++)
        for (struct block *block = own->first[class], *next; block; block = next) {
            next = block->next;
            __libc_free(block);
        }
    __libc_free(own);
}
