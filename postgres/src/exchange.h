/* Memory in which a domain finds its arguments, and makes results: granted to it, so that it can neither unmap nor protect it, and the server
 * reads and writes there as in memory of its own. It does so where the domain has it, not through the region's other address: processors that
 * look for data under its virtual address (AMD's) would find each line late, twice. */
#ifndef LOCKGATE_EXCHANGE_H
#define LOCKGATE_EXCHANGE_H

#include "postgres.h"

#include <lockgate.h>

#include "ahead.h"

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
    int count;        /* chunks that there are */
    int current;      /* the one in use */
    char *next, *end; /* what is free of it */
    Ahead ahead;      /* of the values that are copied there */
    Chunk chunks[EXCHANGE_CHUNKS];
} Exchange;

/* What was there before a call. */
typedef struct Mark {
    int current;
    char *next;
} Mark;

/* What a session keeps between calls, bytes: larger chunks go when they are left. */
#define EXCHANGE_KEPT ((Size)4 << 20)

/* The first chunk, unless it is there: marks need one. */
void exchange_begin(Exchange *exchange);

static inline Mark exchange_mark(const Exchange *exchange) {
    return (Mark){exchange->current, exchange->next};
}

/* Goes back to an earlier chunk, and gives large ones behind it back to the system. */
void exchange_leave(Exchange *exchange, int chunk);

/* Gives back all that was taken since. */
static inline void exchange_release(Exchange *exchange, Mark mark) {
    if (unlikely(exchange->current != mark.current))
        exchange_leave(exchange, mark.current);
    exchange->next = mark.next;
}

/* Gives back everything. */
static inline void exchange_reset(Exchange *exchange) {
    exchange_release(exchange, (Mark){0, exchange->chunks[0].at});
}

/* Goes on where there is room for `size` bytes. ERROR if that cannot be. */
void exchange_grow(Exchange *exchange, Size size);

#define EXCHANGE_ALIGNMENT 16

/* Room of `size` bytes, aligned to 16. Fails as an ERROR. */
static inline void *exchange_room(Exchange *exchange, Size size) {
    /* (>=, not >: even no bytes get an address within a chunk.) */
    if (unlikely(size >= (Size)(exchange->end - exchange->next)))
        exchange_grow(exchange, size);
    char *room = exchange->next;
    exchange->next = room + TYPEALIGN(EXCHANGE_ALIGNMENT, size);
    return room;
}

/* Room with a copy of `bytes` in it. */
static inline void *exchange_put(Exchange *exchange, const void *bytes, Size size) {
    void *room = exchange_room(exchange, size);
    ahead_see(&exchange->ahead, bytes, size);
    memcpy(room, bytes, size);
    return room;
}

/* How much of it is in use, bytes; what was left over at the end of a chunk counts. */
Size exchange_size(const Exchange *exchange);

/* Frees everything; errors are the domain's, which goes, too. */
void exchange_free(Exchange *exchange);

#endif
