// Values of every kind, in and out.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SAME(name, type) type same_##name(type value) { return value; }
SAME(i8, int8_t)
SAME(u8, uint8_t)
SAME(i16, int16_t)
SAME(u16, uint16_t)
SAME(i32, int32_t)
SAME(u32, uint32_t)
SAME(i64, int64_t)
SAME(u64, uint64_t)
SAME(float, float)
SAME(double, double)
SAME(bool, bool)
SAME(char, char)
SAME(pointer, void *)

struct pair { double x; int32_t n; };
struct big { int64_t values[5]; };
struct nested { struct pair pairs[2]; uint8_t tail; };

struct pair swap(struct pair p) { return (struct pair){p.n, (int32_t)p.x}; }
struct big make_big(int64_t seed) { struct big b; for (int i = 0; i < 5; i++) b.values[i] = seed * i; return b; }
int64_t sum_big(struct big b, int64_t more) { for (int i = 0; i < 5; i++) more += b.values[i]; return more; }
struct nested turn(struct nested n) { struct pair p = n.pairs[0]; n.pairs[0] = n.pairs[1]; n.pairs[1] = p; n.tail++; return n; }

double mixed(int8_t a, double b, int64_t c, float d, int64_t e, int64_t f, int64_t g, int64_t h, int64_t i, double j)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}
void nothing(void) {}

// By reference.
int64_t sum(const int64_t *values, size_t count) { int64_t s = 0; while (count--) s += *values++; return s; }
void twice(double *values, size_t count) { for (size_t i = 0; i < count; i++) values[i] *= 2; }
void increment(int32_t *value) { ++*value; }
void move_pair(struct pair *p, double by) { p->x += by; p->n++; }
size_t length(const char *text) { return strlen(text); }
int same_place(const void *a, const void *b) { return a == b; }
void fill(char *buffer, size_t size) { memset(buffer, 'x', size - 1); buffer[size - 1] = 0; }
const char *greeting(void) { return "hello"; }
const char *no_greeting(void) { return NULL; }
char *copy(const char *text) { return strdup(text); }
int64_t *numbers(size_t count) { int64_t *n = malloc(count * sizeof *n); for (size_t i = 0; i < count; i++) n[i] = i * i; return n; }

// State.
static int counter;
int count(void) { return ++counter; }
void scale(double *to, const double *from, size_t count, double by) { for (size_t i = 0; i < count; i++) to[i] = from[i] * by; }
double total(const double *values, size_t count) { double s = 0; while (count--) s += *values++; return s; }
int64_t first(const int64_t *values) { return *values; }

struct two { double a, b; };
struct two call_pair(struct two (*f)(int), int x) { return f(x); }
struct base { double a; int8_t b; };
struct derived { struct base base; int8_t c; };
struct derived derive(struct derived d, int8_t by) { d.base.b += by; d.c += by; return d; }
int call_derived(int (*f)(struct derived), int8_t by) { return f((struct derived){{0.5, by}, 2}); }
void fill_after(char *buffer, size_t size, int (*f)(int)) { size += f(0); memset(buffer, 'y', size); }
