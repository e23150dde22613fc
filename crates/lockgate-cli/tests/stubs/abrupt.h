/* Calls whose end comes from the program's side: a panic in a callback, a structure that moves, a function or a place that another thread gives up meanwhile
 * (tests/bindings.rs). */
#ifndef ABRUPT_H
#define ABRUPT_H
#include <lockgate/annotations.h>
#include <stdbool.h>
#include <stddef.h>

LG_DOMAIN("abrupt", memory=64M, time=4000);
LG_ERRORS(int, -1);

typedef int (*abrupt_tick)(void *user, int k) LG_ERROR(-1);
typedef int (*abrupt_word)(int k) LG_ERROR(-1);

/* What goes in as a bool, sizes among it. */
struct abrupt_choice {
    bool wide, all[2];
    int n;
};
typedef bool (*abrupt_ask)(void *user, bool wide, const bool *all LG_IN LG_SIZE(2), bool *out LG_OUT LG_SIZE(2)) LG_ERROR(false);
int abrupt_fill(unsigned char *out LG_OUT LG_SIZE(wide == 1 ? 4096 : 4) LG_WRITTEN(wide == 1 ? 4096 : 4), bool wide);
int abrupt_chosen(struct abrupt_choice choice);
int abrupt_turn(bool *wide LG_INOUT, bool *many LG_INOUT LG_SIZE(n), int n, bool ignored LG_IGNORE);
bool abrupt_any(const bool *many LG_IN LG_SIZE(n), int n) LG_ERROR(false);
int abrupt_asks(abrupt_ask ask, void *user);

/* A structure that the library remembers, with the program's buffers during a call; its end writes to what it finds there. */
struct abrupt_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned char *next_out;
    unsigned avail_out;
    bool begun;
};
LG_FIELD(struct abrupt_stream, next_in, LG_IN LG_CURSOR LG_SIZE(avail_in) LG_NULLABLE);
LG_FIELD(struct abrupt_stream, next_out, LG_OUT LG_CURSOR LG_SIZE(avail_out) LG_NULLABLE);
int abrupt_begin(struct abrupt_stream *stream LG_KEPT LG_OUT);
int abrupt_step(struct abrupt_stream *stream LG_KEPT LG_INOUT, abrupt_tick tick, void *user);
int abrupt_copy(struct abrupt_stream *to LG_KEPT LG_OUT, struct abrupt_stream *from LG_KEPT LG_OUT);
int abrupt_end(struct abrupt_stream *stream LG_KEPT LG_RELEASE LG_INOUT);
int abrupt_end_with(struct abrupt_stream *stream LG_KEPT LG_RELEASE LG_OUT, const char *why LG_STRING);
int abrupt_ends(void);

/* Handles with functions; the end calls both. */
typedef struct abrupt_own abrupt_own;
abrupt_own *abrupt_new(void);
int abrupt_free(abrupt_own *own LG_RELEASE);
int abrupt_close(abrupt_own *own LG_RELEASE, const char *why LG_STRING);
int abrupt_hold(abrupt_own *own, abrupt_tick tick, void *user);
int abrupt_take(abrupt_own *own, abrupt_word word);
int abrupt_fire(abrupt_own *own);
int abrupt_alive(void);

/* Memory that the program has until it gives it back. */
char *abrupt_text(void) LG_STRING LG_FREED(abrupt_give);
unsigned char *abrupt_bytes(size_t n) LG_SIZE(n) LG_FREED(abrupt_give);
void *abrupt_grow(void *old LG_INSIDE LG_RELEASE, size_t n) LG_SIZE(n) LG_FREED(abrupt_give);
void abrupt_give(void *memory LG_INSIDE);
/* How many of some of its bytes are not what abrupt_bytes() gives. */
int abrupt_check(void *memory LG_INSIDE LG_SIZE(n), size_t n) LG_ERROR(-1);

#endif
