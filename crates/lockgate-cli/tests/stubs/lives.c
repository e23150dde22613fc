/* The library. */
#include "lives.h"
#include <stdlib.h>
#include <string.h>

struct life {
    lives_event event;
    void *user;
    FILE *file;
    char *buffer;
};

static int mode;
static volatile int arrived;
/* Those that were given first since the mode was set. */
static struct life taken;

void lives_mode(int to)
{
    mode = to;
    arrived = 0;
    taken = (struct life){0};
}

/* The next is where the last one was. */
static struct life *spare, *last;

static struct life *made(struct life new)
{
    struct life *life = spare ? spare : malloc(sizeof *life);
    spare = 0;
    *life = new;
    last = life;
    if (!taken.event)
        taken.event = new.event;
    if (!taken.user)
        taken.user = new.user;
    if (!taken.file)
        taken.file = new.file;
    return life;
}

struct life *lives_new(void) { return made((struct life){0}); }
struct life *lives_with(lives_event event, void *user) { return made((struct life){event, user, 0, 0}); }

int lives_into(struct life **life, lives_event event, void *user)
{
    *life = lives_with(event, user);
    return 0;
}

int lives_last(struct life **life)
{
    *life = last;
    return 0;
}

struct life *lives_ops(const struct lives_ops *ops) { return lives_with(ops->event, ops->user); }
struct life *lives_log(FILE *file)
{
    struct life *life = made((struct life){0, 0, file, 0});
    return mode == 2 ? (struct life *)((char *)life + 1) : life;
}

struct life *lives_part(struct life *life) { return made(*life); }

struct other *lives_other(struct life *life) { return mode == 4 ? (struct other *)life : malloc(8); }

static struct life same;

int lives_same(struct life **life, char *room, int n)
{
    (void)room, (void)n;
    *life = &same;
    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
    while (arrived < 2)
        ;
    return 0;
}

void lives_drop(void *memory) { (void)memory; }

void lives_free(struct life *life)
{
    if (life == &same)
        return;
    free(life->buffer);
    if (spare)
        free(life);
    else
        spare = life;
}

void lives_on(struct life *life, lives_event event, void *user)
{
    life->event = event;
    life->user = user;
    if (!taken.event)
        taken = *life;
}

void lives_user(struct life *life, void *user) { life->user = user; }

int lives_run(struct life *life, int n)
{
    if (mode == 6)
        return life->event(NULL, n);
    return mode ? taken.event(taken.user, n) : life->event(life->user, n);
}

int lives_write(struct life *life, const char *text) { return fputs(text, mode ? taken.file : life->file) < 0; }
int lives_value(struct life *life) { return life ? 1 : 0; }

int lives_for(struct life *life, int n, lives_event event, void *user)
{
    if (!life || !event)
        return user ? -1 : 0;
    if (!taken.event)
        taken = (struct life){event, user, 0, 0};
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += event(mode == 3 ? taken.user : user, i);
    return sum;
}

struct life *lives_started(lives_event event, void *user)
{
    struct life *life = lives_with(event, user);
    event(user, 0);
    return life;
}

int lives_each(int n, lives_event event, void *user)
{
    made((struct life){event, user, 0, 0});
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += event(user, i);
    return sum;
}

int lives_later(void) { return taken.event(taken.user, 0); }
int lives_later_said(const char *text) { return text ? lives_later() : -1; }
int lives_with_file(FILE *file, lives_event event, void *user)
{
    made((struct life){event, user, file, 0});
    return event(user, 0) + fputs("in its call", file);
}

int lives_write_later(const char *text) { return fputs(text, taken.file) < 0; }
void lives_always(lives_event event, void *user) { taken = (struct life){event, user, 0, 0}; }

static FILE *volatile stolen;
static volatile int tried;

int lives_load(struct life *life, FILE *file)
{
    stolen = file;
    while (life && !tried)
        ;
    return tried;
}

int lives_steal(struct life *life)
{
    while (life && !stolen)
        ;
    return fgetc(stolen);
}

int lives_tried(void) { return tried = 1; }

char *lives_buffer(struct life *life, int n)
{
    static char fixed[8192] __attribute__((aligned(4096)));
    return mode == 7 ? fixed : (life->buffer = realloc(life->buffer, (size_t)n));
}

int lives_sum(struct life *life, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += life->buffer[i];
    return sum;
}

int lives_both(struct life *one, struct life *other) { return one != other; }

int lives_numbers(const int *numbers, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += numbers[i];
    return sum;
}
