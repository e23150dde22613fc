#include "exchange.h"

#include "endings.h"

#define FIRST_CHUNK ((Size)64 << 10)
#define PAGE ((Size)4096)

static void drop_last(Exchange *exchange) {
    Chunk *chunk = &exchange->chunks[--exchange->count];
    lg_grant_free(chunk->grant);
    lg_region_free(chunk->region);
}

/* Goes on at the start of a chunk. */
static void go_on(Exchange *exchange, int current) {
    const Chunk *chunk = &exchange->chunks[current];
    exchange->current = current;
    exchange->next = chunk->at;
    exchange->end = chunk->at + chunk->size;
}

/* Makes the chunk behind the current one, with room for more than `size` bytes. */
static void add(Exchange *exchange, Size size) {
    Size chunk_size = exchange->count ? 2 * exchange->chunks[exchange->count - 1].size : FIRST_CHUNK;
    while (chunk_size <= size)
        chunk_size *= 2;
    if (exchange->count == EXCHANGE_CHUNKS)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("arguments of a function in language lgc are too large"));
    Chunk chunk = {.size = chunk_size};
    chunk.region = lg_region_new(chunk_size);
    if (!chunk.region) {
        /* Values of a gigabyte are allowed, and all regions together have one: as much as is asked for, in whole pages. */
        chunk.size = TYPEALIGN(PAGE, size + 1);
        chunk.region = lg_region_new(chunk.size);
    }
    chunk.grant = chunk.region ? lg_grant_new(exchange->domain, chunk.region, LG_READ_WRITE) : NULL;
    if (!chunk.grant) {
        lg_status status = lg_last_status();
        char *message = pstrdup(lg_last_message());
        lg_region_free(chunk.region);
        if (status == LG_E_TOO_MANY)
            ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("one more aggregate over lockgate.state, or larger arguments, are more than a module can have at once"), errdetail("%s", message),
                    errhint("Cursors with aggregates over lockgate.state keep theirs until they are closed."));
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("no memory for %zu bytes of arguments of a function in language lgc", size), errdetail("%s", message));
    }
    chunk.at = (char *)lg_grant_pointer(chunk.grant, 0);
    exchange->chunks[exchange->count++] = chunk;
}

void exchange_begin(Exchange *exchange) {
    if (exchange->count)
        return;
    add(exchange, 0);
    go_on(exchange, 0);
}

void exchange_grow(Exchange *exchange, Size size) {
    int next = exchange->count ? exchange->current + 1 : 0;
    if (next == exchange->count || size >= exchange->chunks[next].size) {
        while (exchange->count > next)
            drop_last(exchange);
        add(exchange, size);
    }
    go_on(exchange, next);
}

void exchange_leave(Exchange *exchange, int chunk) {
    while (exchange->count > chunk + 1 && exchange->chunks[exchange->count - 1].size > EXCHANGE_KEPT)
        drop_last(exchange);
    go_on(exchange, chunk);
}

Size exchange_size(const Exchange *exchange) {
    if (!exchange->count)
        return 0;
    Size size = exchange->next - exchange->chunks[exchange->current].at;
    for (int i = 0; i < exchange->current; i++)
        size += exchange->chunks[i].size;
    return size;
}

void exchange_free(Exchange *exchange) {
    while (exchange->count)
        drop_last(exchange);
    exchange->current = 0;
    exchange->next = exchange->end = NULL;
}
