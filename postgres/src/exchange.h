/* Memory in which a domain finds its arguments, and makes results: granted to it, so that it can neither unmap nor protect it, and the server
 * reads and writes there as in memory of its own. It does so where the domain has it, not through the region's other address: processors that
 * look for data under its virtual address (AMD's) would find each line late, twice. */
#ifndef LOCKGATE_EXCHANGE_H
#define LOCKGATE_EXCHANGE_H

#include "postgres.h"

#include <lockgate.h>

#define EXCHANGE_CHUNKS 16

/* One region. Chunks are filled in order, each at least twice as large as the one before. */
typedef struct Chunk {
    lg_region *region;
    lg_grant *grant;
    char *at; /* in the domain's window */
    Size size;
} Chunk;

typedef struct Exchange {
    lg_domain *domain;
    int count;   /* chunks that there are */
    int current; /* the one in use */
    Size used;   /* of it, bytes */
    Size largest; /* chunk, bytes */
    uintptr_t last, last_end; /* where the value was that was copied last */
    uint32 neighbours;        /* so many before it were neighbours of each other */
    Chunk chunks[EXCHANGE_CHUNKS];
} Exchange;

/* What was there before a call. */
typedef struct Mark {
    int current;
    Size used;
} Mark;

/* What a session keeps between calls, bytes: larger chunks go when a call is over. */
#define EXCHANGE_KEPT ((Size)4 << 20)

/* Gives back all that was taken since, large chunks to the system. */
void exchange_shrink(Exchange *exchange, Mark mark);

static inline void exchange_release(Exchange *exchange, Mark mark) {
    if (unlikely(exchange->largest > EXCHANGE_KEPT)) {
        exchange_shrink(exchange, mark);
        return;
    }
    exchange->current = mark.current;
    exchange->used = mark.used;
}

/* Goes on where there is room for `size` bytes. ERROR if that cannot be. */
void exchange_grow(Exchange *exchange, Size size);

#define EXCHANGE_ALIGNMENT 16
/* Of the processor's cache, bytes; and how much of it one copy asks for. */
#define EXCHANGE_LINE 64
#define EXCHANGE_FETCHED 4096
/* Between the values of neighbouring rows, bytes, at most: a row's header, and columns before the value. */
#define EXCHANGE_GAP 128
/* How many values ahead. */
#define EXCHANGE_AHEAD 3

/* Room of `size` bytes, aligned to 16. Fails as an ERROR. */
static inline void *exchange_room(Exchange *exchange, Size size) {
    if (unlikely(exchange->count == 0 || size > exchange->chunks[exchange->current].size - exchange->used))
        exchange_grow(exchange, size);
    const Chunk *chunk = &exchange->chunks[exchange->current];
    Size at = exchange->used;
    exchange->used = Min(chunk->size, at + TYPEALIGN(EXCHANGE_ALIGNMENT, size));
    return chunk->at + at;
}

static inline void exchange_fetch(uintptr_t at, Size size) {
#pragma GCC unroll 8
    for (uintptr_t end = at + size; at < end; at += EXCHANGE_LINE)
        __builtin_prefetch((const void *)at);
}

/* Copies into room. Values of a table that was just read lie in main memory as often as not: all of one is asked for at once, and if it is a neighbour of
 * the last one, as in a scan, the third from here, too, which arrives while functions work. */
static inline void exchange_copy(Exchange *exchange, void *room, const void *bytes, Size size) {
    uintptr_t at = (uintptr_t)bytes, end = at + size;
    if (at != exchange->last && size <= EXCHANGE_FETCHED) {
        /* Rows lie in a page from its end to its start. */
        uintptr_t below = exchange->last - end, above = at - exchange->last_end;
        uintptr_t step = below < EXCHANGE_GAP ? -(below + size) : above < EXCHANGE_GAP ? above + size : 0;
        exchange->neighbours = step ? exchange->neighbours + 1 : 0;
        if (exchange->neighbours <= EXCHANGE_AHEAD)
            exchange_fetch(at, size);
        if (step)
            exchange_fetch(at + EXCHANGE_AHEAD * step, size);
        exchange->last = at;
        exchange->last_end = end;
    }
    memcpy(room, bytes, size);
}

/* The same with a copy of `bytes` in it. */
static inline void *exchange_put(Exchange *exchange, const void *bytes, Size size) {
    void *room = exchange_room(exchange, size);
    exchange_copy(exchange, room, bytes, size);
    return room;
}

/* How much of it is in use, bytes; what was left over at the end of a chunk counts. */
Size exchange_size(const Exchange *exchange);

/* Frees everything; errors are the domain's, which goes, too. */
void exchange_free(Exchange *exchange);

#endif
