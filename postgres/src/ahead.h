/* Values of a table that the server reads row by row lie in main memory as often as not. All of a value is asked for at once, and while a function
 * works with one, the third row from there arrives: what is asked for is what will be copied, not what a function may look at. */
#ifndef LOCKGATE_AHEAD_H
#define LOCKGATE_AHEAD_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/bufpage.h"

/* Of the processor's cache, bytes; and how much of it one value may ask for. */
#define AHEAD_LINE 64
#define AHEAD_LARGEST 4096
/* Between the values of neighbouring rows, bytes, at most: a row's header, and columns before the value. */
#define AHEAD_GAP 128
/* How many rows ahead. */
#define AHEAD_ROWS 3

typedef struct Ahead {
    uintptr_t last, last_end; /* where the value was that was seen last */
    uintptr_t step;           /* from it to the next one, modulo 2^64 */
    Size gap;                 /* bytes between the two */
    uint32 run;               /* so many were where they were expected */
} Ahead;

/* Asks for the lines in which so many bytes lie, four at once: to ask for some more costs less than to count them. */
static inline void ahead_ask(uintptr_t at, Size size) {
    for (uintptr_t end = at + size; at < end; at += 4 * AHEAD_LINE) {
        __builtin_prefetch((const void *)at);
        __builtin_prefetch((const void *)(at + AHEAD_LINE));
        __builtin_prefetch((const void *)(at + 2 * AHEAD_LINE));
        __builtin_prefetch((const void *)(at + 3 * AHEAD_LINE));
    }
}

/* Where the value lies that would lie at `ahead` if the page of the value at `at` went on: rows fill pages from the end to the start, and the page's
 * neighbour is the next one as often as not. */
static inline uintptr_t ahead_turn(uintptr_t at, uintptr_t ahead) {
    uintptr_t offset = at - (uintptr_t)BufferBlocks;
    if (offset >= (Size)NBuffers * BLCKSZ)
        return ahead;
    uintptr_t page = at - offset % BLCKSZ;
    LocationIndex rows = ((const PageHeaderData *)page)->pd_upper;
    return ahead < page + rows ? ahead + 2 * BLCKSZ - rows : ahead;
}

/* A value is about to be copied. */
static inline void ahead_see(Ahead *state, const void *value, Size size) {
    uintptr_t at = (uintptr_t)value, end = at + size;
    if (at == state->last || size > AHEAD_LARGEST)
        return;
    uintptr_t below = state->last - end, above = at - state->last_end;
    if (below < AHEAD_GAP) {
        state->step = -(below + size);
        state->gap = below;
    } else if (above < AHEAD_GAP) {
        state->step = above + size;
        state->gap = above;
    } else if (!state->step || at - ahead_turn(state->last, state->last + state->step) + AHEAD_GAP > 2 * AHEAD_GAP) {
        state->run = 0;
        state->step = 0;
    }
    state->last = at;
    state->last_end = end;
    if (state->run < AHEAD_ROWS)
        ahead_ask(at, size);
    if (state->step) {
        state->run++;
        ahead_ask(ahead_turn(at, at + AHEAD_ROWS * state->step) - state->gap, state->gap + size);
    }
}

#endif
