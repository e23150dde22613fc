#include "exchange.h"

#include "endings.h"

#define FIRST_CHUNK ((Size)64 << 10)

static void drop_last(Exchange *exchange) {
    Chunk *chunk = &exchange->chunks[--exchange->count];
    lg_grant_free(chunk->grant);
    lg_region_free(chunk->region);
    exchange->largest = exchange->count ? chunk[-1].size : 0;
}

/* Makes the chunk behind the current one, with room for `size` bytes, and goes on there. */
static void add(Exchange *exchange, Size size) {
    while (exchange->count > exchange->current + 1)
        drop_last(exchange);
    Size chunk_size = exchange->count ? 2 * exchange->chunks[exchange->count - 1].size : FIRST_CHUNK;
    while (chunk_size < size)
        chunk_size *= 2;
    if (exchange->count == EXCHANGE_CHUNKS)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("arguments of a function in language lgc are too large"));
    Chunk chunk = {.size = chunk_size};
    chunk.region = lg_region_new(chunk_size);
    chunk.grant = chunk.region ? lg_grant_new(exchange->domain, chunk.region, LG_READ_WRITE) : NULL;
    if (!chunk.grant) {
        lg_region_free(chunk.region);
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("no memory for %zu bytes of arguments of a function in language lgc", size), errdetail("%s", lg_last_message()));
    }
    chunk.at = (char *)lg_grant_pointer(chunk.grant, 0);
    exchange->chunks[exchange->count++] = chunk;
    exchange->largest = chunk_size;
    exchange->current = exchange->count - 1;
    exchange->used = 0;
}

void exchange_grow(Exchange *exchange, Size size) {
    int next = exchange->current + 1;
    if (next < exchange->count && size <= exchange->chunks[next].size) {
        exchange->current = next;
        exchange->used = 0;
    } else {
        add(exchange, size);
    }
}

void exchange_shrink(Exchange *exchange, Mark mark) {
    int used = mark.used ? mark.current + 1 : mark.current;
    while (exchange->count > used && exchange->chunks[exchange->count - 1].size > EXCHANGE_KEPT)
        drop_last(exchange);
    exchange->current = mark.current;
    exchange->used = mark.used;
    if (exchange->current > 0 && exchange->current == exchange->count) {
        exchange->current--;
        exchange->used = exchange->chunks[exchange->current].size;
    }
}

Size exchange_size(const Exchange *exchange) {
    Size size = exchange->used;
    for (int i = 0; i < exchange->current; i++)
        size += exchange->chunks[i].size;
    return size;
}

void exchange_free(Exchange *exchange) {
    while (exchange->count)
        drop_last(exchange);
    exchange->current = 0;
    exchange->used = 0;
}
