/* Whose a handle is that has gone through a call which may put another in its place, and which functions belong to which handle's life (tests/bindings.rs). */
#ifndef OWNED_H
#define OWNED_H

#include <lockgate/annotations.h>

LG_DOMAIN("owned", memory=32M, time=20000);
LG_ERRORS(int, -1);

struct thing;
struct part;
typedef int (*owned_tick)(int n) LG_ERROR(-1);
struct thing *owned_new(void);
/* The library's own, which nobody ends. */
struct thing *owned_default(void) LG_BORROWED;
/* How many there are, and how often one was ended. */
int owned_count(void);
int owned_ends(void);
void owned_free(struct thing *owned LG_RELEASE);
/* Leaves it there; puts a new one in its place, and ends it (1); or has it still, for owned_late(), which the result says (2). */
int owned_swap(struct thing **owned LG_INOUT, int anew);
/* Ends one; or says by 1 that the library has it still, and calls its function by owned_late(). */
int owned_close(struct thing *owned LG_RELEASE, int busy);
int owned_late(int n);
/* Makes one in any case. */
int owned_open(struct thing **owned LG_OUT, int fails) LG_ERRNO;
int owned_take(struct thing *owned, owned_tick tick);
int owned_fire(struct thing *owned, int n);
struct thing *owned_begin(owned_tick tick);
int owned_both(struct thing *owned, struct part *part, owned_tick tick);
struct part *part_new(struct thing *owned, owned_tick tick);
int part_fire(struct part *part, int n);
void part_free(struct part *part LG_RELEASE);

#endif
