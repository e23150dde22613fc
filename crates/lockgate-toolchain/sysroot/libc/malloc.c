/* malloc and its like, for blocks of up to LARGEST bytes, in front of musl's allocator, which checks and locks at each call and has all
   others (docs/decisions/0081).

   Small blocks lie in chunks, each of blocks of one size, its class. A table has the class of each chunk of the address space, so that
   free() knows by the address alone what it is given, and whose. A thread keeps blocks of each class in a cache of its own, which changes
   no lock's word; caches take from chunks, and give back to them, several blocks at a time. A call may be ended at any instruction (a time
   limit, a kill): what a cache has is right then, too, but for the room that is left, which is a hint. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "call.h"
#include "musl.h"

/* A module may have an allocator of its own, or a part of one. */
#define weak __attribute__((weak))

enum {
    UNIT = 16,
    LARGEST = 4096,
    /* Classes 1 to FINE are multiples of UNIT; above, there are four between two powers of two. */
    FINE = 32,
    FINEST = UNIT * FINE,
    CLASSES = FINE + 4 * 3 + 1,
    CHUNK = 32 << 10,
    /* Chunks that are taken from the system at once, at first and at most. */
    FEW = 4,
    MANY = 32,
    /* Blocks of one class that wait in a cache, at most; of large ones, what a chunk has. */
    MOST = 256,
    /* Empty chunks that wait for a class, more than one of each; others go back to the system. */
    KEPT = 64,
    /* `lockgate`'s crates/lockgate-syscall/src/calls/functions.rs. */
    LAST_WORDS = 401,
};

/* A block that waits. `where` is its thread's cache, or `in_chunk`; in a block in use either is improbable, so a second free() is
   noticed. */
struct block {
    struct block *next;
    const void *where;
};

/* The head of a chunk, changed under `lock` alone. */
struct chunk {
    struct chunk *next, *before;
    struct block *free;
    /* Blocks from here on have never been given out. */
    char *fresh;
    unsigned used;
};

struct list {
    struct block *first;
    /* How many more blocks may wait: a hint, as said above. */
    unsigned room;
    /* How many are taken next from chunks: few at first, so that little memory is touched. */
    unsigned next;
};

struct cache {
    struct list of[CLASSES];
    struct cache *next;
};

/* From the thread's first small block on. */
static _Thread_local struct cache *cache;

/* By the low halves of their addresses: a window has no more. The linker's script puts .lbss last, so that this does not lie amid libc's
   other variables, which would then be on two pages of each domain instead of one. */
static unsigned char class_of_chunk[(1UL << 32) / CHUNK] __attribute__((section(".lbss.class_of_chunk")));
static volatile int lock[1];
/* Chunks of each class that have blocks left, and empty ones in that of class 0. */
static struct chunk *chunks[CLASSES];
static unsigned empty, at_once = FEW;
/* What is left of what the system has given. */
static char *rest, *rest_end;
static const char in_chunk;
/* Caches of threads that have ended: whoever has the lock next gives their blocks back. Nobody waits for the lock at a thread's end, which libc makes
   with all signals blocked and its list of threads locked, for which others wait likewise: the lock's owner may be a thread that a handler has
   stopped until those have answered. */
static struct cache *left;

static inline size_t class_of(size_t size) {
    if (size <= FINEST) return (size + UNIT - 1) / UNIT + !size;
    const unsigned doublings = (unsigned)(__builtin_clzl(FINEST) - __builtin_clzl(size - 1));
    return FINE + 1 + 4 * doublings + ((size - 1) / (FINEST / 4) >> doublings) % 4;
}

static inline size_t size_of(size_t class) {
    if (class <= FINE) return class * UNIT;
    const size_t above = class - FINE - 1;
    return (size_t)FINEST / 4 * (above % 4 + 5) << above / 4;
}

static inline unsigned most(size_t class) {
    const size_t count = CHUNK / size_of(class);
    return count > MOST ? MOST : (unsigned)count;
}

/* The class of the chunk that this lies in, or 0: what is there is musl's. */
static inline unsigned char *class_at(const void *at) {
    return &class_of_chunk[(uint32_t)(uintptr_t)at / CHUNK];
}

static struct chunk *chunk_of(struct block *block) {
    return (struct chunk *)((uintptr_t)block & -(uintptr_t)CHUNK);
}

static char *first_block(struct chunk *chunk) {
    return (char *)chunk + (sizeof *chunk + UNIT - 1) / UNIT * UNIT;
}

static void insert(struct chunk **list, struct chunk *chunk) {
    chunk->before = NULL;
    chunk->next = *list;
    if (*list) (*list)->before = chunk;
    *list = chunk;
}

static void take_out(struct chunk **list, struct chunk *chunk) {
    if (chunk->next) chunk->next->before = chunk->before;
    *(chunk->before ? &chunk->before->next : list) = chunk->next;
}

static int has_more(const struct chunk *chunk, size_t size) {
    return chunk->free || chunk->fresh + size <= (const char *)chunk + CHUNK;
}

/* Has the system give some chunks; what that leaves of a chunk at the beginning is lost. */
static int get_rest(void) {
    for (unsigned want = at_once; want; want /= 2) {
        const size_t size = want * CHUNK + CHUNK - 4096;
        long got = lg_call6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (got < 0 && got > -4096) continue;
        rest = (char *)(((uintptr_t)got + CHUNK - 1) & -(uintptr_t)CHUNK);
        rest_end = rest + want * CHUNK;
        if (at_once < MANY) at_once *= 2;
        return 1;
    }
    return 0;
}

static struct chunk *new_chunk(size_t class) {
    struct chunk *chunk = chunks[0];
    if (chunk) {
        take_out(&chunks[0], chunk);
        empty--;
    } else {
        if (rest == rest_end && !get_rest()) return NULL;
        chunk = (struct chunk *)rest;
        rest += CHUNK;
    }
    chunk->free = NULL;
    chunk->fresh = first_block(chunk);
    chunk->used = 0;
    insert(&chunks[class], chunk);
    *class_at(chunk) = (unsigned char)class;
    return chunk;
}

/* Nobody has a block of it. */
static void drop_chunk(struct chunk *chunk, size_t class) {
    take_out(&chunks[class], chunk);
    *class_at(chunk) = 0;
    if (empty < KEPT) {
        insert(&chunks[0], chunk);
        empty++;
    } else {
        lg_call3(SYS_munmap, (long)chunk, CHUNK, 0);
    }
}

/* A block of a chunk. For who has the lock, as is the next. */
static struct block *pop(size_t class) {
    const size_t size = size_of(class);
    struct chunk *chunk = chunks[class] ? chunks[class] : new_chunk(class);
    if (!chunk) return NULL;
    struct block *block = chunk->free;
    if (block) {
        chunk->free = block->next;
    } else {
        block = (struct block *)chunk->fresh;
        chunk->fresh += size;
    }
    chunk->used++;
    if (!has_more(chunk, size)) take_out(&chunks[class], chunk);
    return block;
}

static void push(struct block *block, size_t class) {
    struct chunk *chunk = chunk_of(block);
    if (!has_more(chunk, size_of(class))) insert(&chunks[class], chunk);
    block->where = &in_chunk;
    block->next = chunk->free;
    chunk->free = block;
    if (--chunk->used == 0) drop_chunk(chunk, class);
}

/* Blocks of a cache go back to their chunks, so many at most. With the lock. */
static void drain(struct list *list, size_t class, unsigned count) {
    for (; list->first && count; count--) {
        struct block *block = list->first;
        list->first = block->next;
        list->room++;
        push(block, class);
    }
}

static void give_back_left(void) {
    struct cache *own = __atomic_exchange_n(&left, NULL, __ATOMIC_ACQUIRE);
    while (own) {
        struct cache *next = own->next;
        for (size_t class = 1; class < CLASSES; class++) drain(&own->of[class], class, -1U);
        push((struct block *)own, class_of(sizeof *own));
        own = next;
    }
}

static void lock_chunks(void) {
    __lock(lock);
    if (__atomic_load_n(&left, __ATOMIC_RELAXED)) give_back_left();
}

/* A block for the program; others wait in the cache, which has none. */
static struct block *take(struct cache *own, size_t class) {
    struct list *list = &own->of[class];
    unsigned want = list->next;
    list->next = 2 * want > most(class) / 2 ? most(class) / 2 : 2 * want;
    struct block *first = NULL;
    lock_chunks();
    for (struct block *block; want && (block = pop(class)); want--) {
        block->where = own;
        block->next = first;
        first = block;
    }
    __unlock(lock);
    if (!first) return NULL;
    list->room = most(class);
    for (struct block *block = first->next; block; block = block->next) list->room--;
    list->first = first->next;
    return first;
}

static void give_back(struct list *list, size_t class, unsigned count) {
    lock_chunks();
    drain(list, class, count);
    __unlock(lock);
}

static struct cache *new_cache(void) {
    lock_chunks();
    struct cache *own = (struct cache *)pop(class_of(sizeof *own));
    __unlock(lock);
    if (!own) return NULL;
    for (size_t class = 1; class < CLASSES; class++) own->of[class] = (struct list){NULL, most(class), 2};
    return cache = own;
}

static __attribute__((noinline)) void *malloc_slowly(size_t class) {
    struct cache *own = cache ? cache : new_cache();
    struct block *block = own ? take(own, class) : NULL;
    if (!block) return __libc_malloc_impl(size_of(class));
    block->where = NULL;
    return block;
}

weak void *malloc(size_t size) {
    if (size > LARGEST) return __libc_malloc_impl(size);
    const size_t class = class_of(size);
    struct cache *own = cache;
    struct block *block = own ? own->of[class].first : NULL;
    if (!block) return malloc_slowly(class);
    own->of[class].first = block->next;
    own->of[class].room++;
    block->where = NULL;
    return block;
}

/* Ends the call as `abort` does, whose own code many modules have no need of. */
static _Noreturn void refuse(const char *why) {
    lg_call3(LAST_WORDS, (long)why, (long)strlen(why), 0);
    lg_call3(SYS_tkill, lg_call3(SYS_gettid, 0, 0, 0), SIGABRT, 0);
    __builtin_trap();
}

/* A block in use may look like one that waits: it is looked for. */
static void check_for_second_free(struct block *block, size_t class, struct cache *own) {
    const int is_cached = block->where == own;
    if (!is_cached) lock_chunks();
    const struct block *other = is_cached ? own->of[class].first : chunk_of(block)->free;
    while (other && other != block) other = other->next;
    if (!is_cached) __unlock(lock);
    if (other) refuse("free() of a block that was freed before");
}

static __attribute__((noinline)) void free_slowly(struct block *block, size_t class) {
    struct cache *own = cache ? cache : new_cache();
    if ((uintptr_t)block % UNIT) refuse("free() of an address that malloc() has not given");
    if (block->where == &in_chunk || (own && block->where == own)) check_for_second_free(block, class, own);
    /* Without memory for a cache the block goes back at once. */
    struct list alone = {0};
    struct list *list = own ? &own->of[class] : &alone;
    if (own && !list->room) give_back(list, class, most(class) / 2);
    block->where = own;
    block->next = list->first;
    list->first = block;
    list->room--;
    if (!own) give_back(list, class, 1);
}

weak void free(void *at) {
    /* musl's allocator looks at its block's header, and traps if it is none. */
    const size_t class = *class_at(at);
    if (!class) {
        if (at) __libc_free(at);
        return;
    }
    struct block *block = at;
    struct cache *own = cache;
    if (!own || !own->of[class].room || (uintptr_t)at % UNIT || block->where == own || block->where == &in_chunk) {
        free_slowly(block, class);
        return;
    }
    block->where = own;
    block->next = own->of[class].first;
    own->of[class].first = block;
    own->of[class].room--;
}

/* musl's own believes that a block is fresh from the system where its allocator says so. */
weak void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (bytes > LARGEST) return __libc_calloc(count, size);
    void *block = malloc(bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

weak size_t malloc_usable_size(void *at) {
    const size_t class = *class_at(at);
    return class ? size_of(class) : __lg_usable_size(at);
}

weak void *realloc(void *at, size_t size) {
    if (!at) return malloc(size);
    const size_t class = *class_at(at);
    if (!class) return __libc_realloc(at, size);
    if (size <= LARGEST && class_of(size) == class) return at;
    void *block = malloc(size);
    if (!block) return NULL;
    const size_t before = size_of(class);
    memcpy(block, at, before < size ? before : size);
    free(at);
    return block;
}

/* The thread ends: its blocks are everybody's again. In musl this is dlerror's, which is ours, too. */
void __dl_thread_cleanup(void) {
    struct cache *own = cache;
    if (!own) return;
    cache = NULL;
    /* (So that a second free() is noticed.) */
    for (size_t class = 1; class < CLASSES; class++)
        for (struct block *block = own->of[class].first; block; block = block->next) block->where = &in_chunk;
    own->next = __atomic_load_n(&left, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&left, &own->next, own, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}
