#include "owned.h"
#include <errno.h>
#include <stdlib.h>

struct thing {
    owned_tick tick;
};
struct part {
    owned_tick tick;
};

static struct thing shared;
static int count, ends;

struct thing *owned_new(void) {
    count++;
    return (struct thing *)calloc(1, sizeof(struct thing));
}

struct thing *owned_default(void) { return &shared; }
int owned_count(void) { return count; }
int owned_ends(void) { return ends; }

void owned_free(struct thing *owned) {
    ends++;
    if (owned == &shared) return;
    count--;
    free(owned);
}

static struct thing *late;

int owned_swap(struct thing **owned, int anew) {
    if (!anew) return 0;
    struct thing *made = owned_new();
    if (anew == 2)
        late = *owned;
    else
        owned_free(*owned);
    *owned = made;
    return anew == 2;
}

int owned_close(struct thing *owned, int busy) {
    if (!busy) return owned_free(owned), 0;
    late = owned;
    return 1;
}

int owned_late(int n) { return late->tick(n); }

int owned_open(struct thing **owned, int fails) {
    *owned = owned_new();
    errno = fails ? EAGAIN : 0;
    return fails ? -1 : 0;
}

int owned_take(struct thing *owned, owned_tick tick) {
    owned->tick = tick;
    return 0;
}

int owned_fire(struct thing *owned, int n) { return owned->tick(n); }

struct thing *owned_begin(owned_tick tick) {
    struct thing *made = owned_new();
    made->tick = tick;
    return made;
}

int owned_both(struct thing *owned, struct part *part, owned_tick tick) {
    owned->tick = part->tick = tick;
    return 0;
}

struct part *part_new(struct thing *owned, owned_tick tick) {
    (void)owned;
    struct part *part = (struct part *)malloc(sizeof *part);
    part->tick = tick;
    return part;
}

int part_fire(struct part *part, int n) { return part->tick(n); }
void part_free(struct part *part) { free(part); }
