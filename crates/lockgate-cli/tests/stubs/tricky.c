/* The library, and everything that a hostile one can answer. */
#include "tricky.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct thing { int value; };

static int mode;
static notify set;
static void *data;

void tricky_mode(int to) { mode = to; }

/* A string that runs into the end of the domain's memory. */
static char *endless(void)
{
    char *at = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 'x', 2 * 4096);
    mprotect(at + 2 * 4096, 4096, PROT_NONE);
    return at + 4096;
}

/* Beyond the window; the low half is that of a good address. */
static void *outside(void) { return (void *)((uintptr_t)&mode + ((uintptr_t)8 << 30)); }

long tricky_sum(const int *values, int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

int tricky_fill(char *out, int n)
{
    memset(out, 'a', n);
    return mode == 3 ? n + 1 : n / 2;
}

int tricky_grow(char *out, size_t *length)
{
    memset(out, 'g', *length);
    *length = mode == 3 ? *length + 4096 : 3;
    return 0;
}

const char *tricky_text(int which)
{
    switch (mode) {
    case 1: return outside();
    case 2: return endless();
    case 9: return (const char *)(uintptr_t)0x1000;
    default: return which ? "some text" : 0;
    }
}

int tricky_print(char *out, size_t room, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(out, room, format, list);
    va_end(list);
    if (mode == 2)
        memset(out, 'x', room);
    return length;
}

struct thing *tricky_open(int value)
{
    struct thing *thing = malloc(sizeof *thing);
    thing->value = value;
    return mode == 4 ? outside() : mode == 10 ? (struct thing *)((char *)thing + 1) : thing;
}

int tricky_value(struct thing *thing) { return thing->value; }

int tricky_replace(struct thing **thing)
{
    int before = *thing ? (*thing)->value : -1;
    *thing = tricky_open(before + 1);
    return before;
}

void tricky_close(struct thing *thing) { free(thing); }

static int inside(void *d, const char *text, const int *numbers, int n) { return !d + !text + !numbers + n; }

notify tricky_set(notify function)
{
    notify before = set;
    set = function;
    return mode == 5 ? inside : before;
}

static notify last;
static void *last_data;

int tricky_call(notify function, void *d)
{
    int numbers[] = {1, 2, 3};
    void *before = data;
    data = d;
    switch (mode) {
    case 1: return function(d, outside(), numbers, 3);
    case 3: return function(d, "called", numbers, 0x7fffffff);
    case 6: return function((char *)d + 1, "called", numbers, 3);
    case 7: return function(d, 0, numbers, 3);
    case 11: return function(before, "called", numbers, 3);
    case 8: return function(d, "called", numbers, -1);
    case 12: return set(d, "called", numbers, 3);
    case 14: return set(0, "called", numbers, 3);
    case 15: return last(last_data, "called", numbers, 3);
    default:
        last = function;
        last_data = d;
        return function(d, "called", numbers, 3);
    }
}

enum colour tricky_colour(void) { return mode == 13 ? (enum colour)3 : GREEN; }

void *tricky_data(void) { return mode == 6 ? (void *)(uintptr_t)12345 : data; }

struct point tricky_mirror(struct point p, enum colour c)
{
    return c == GREEN ? (struct point){p.y, p.x} : p;
}

void tricky_halve(union number *number) { number->d /= 2; }

double tricky_named(const struct named *named, struct point *at)
{
    at->x = (int)strlen(named->name);
    at->y = named->at.y;
    return named->values[0] + named->values[1] + named->values[2] + named->colour;
}

const struct named *tricky_show(void)
{
    static struct named two[2];
    two[0] = (struct named){"first", {1, 2, 3}, GREEN, {4, 5}};
    two[1] = (struct named){mode == 1 ? outside() : "second", {4, 5, 6}, RED, {7, 8}};
    return two;
}

double tricky_matrix(const double *m, long rows, long columns)
{
    double sum = 0;
    for (long i = 0; i < rows * columns; i++)
        sum += m[i];
    return sum;
}

const char *tricky_find(const char *text, int c) { return mode == 1 ? text + 4096 : strchr(text, c); }

int tricky_open_file(const char *path) { return open(path, O_RDONLY); }

int tricky_crash(int *p) { return *p; }

int tricky_loop(void)
{
    for (volatile int i = 0;; i++)
        ;
}

float tricky_count(unsigned char n) { return mode == 3 ? n + 1 : n; }

int tricky_two(int (*give)(const int *)) { return give((const int[]){1, 7}); }

int tricky_many(int (*give)(const int *))
{
    static int values[2000] = {[1999] = 9};
    return give(values);
}
