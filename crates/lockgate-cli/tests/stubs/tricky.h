/* A library with one function for everything that stubs must handle, annotated in place. */
#ifndef TRICKY_H
#define TRICKY_H
#include <lockgate/annotations.h>
#include <stddef.h>

enum colour { RED, GREEN = 7 };
union number { int i; double d; unsigned char bytes[8]; };
struct point { int x, y; };
struct named { const char *name; double values[3]; enum colour colour; struct point at; };
struct thing; /* a handle */
typedef int (*notify)(void *data, const char *text, const int *numbers LG_SIZE(n), int n);

LG_DOMAIN("tricky", memory=16M, time=2000);
LG_FIELD(struct named, name, LG_STRING);
LG_ERRORS(int, -1);
LG_ERRORS(long, -1);
LG_ERRORS(enum colour, -1);
LG_ERRORS(struct point, {0});

/* What the library does from now on: 0 as it should, else the attack of that number. */
void tricky_mode(int mode);

long tricky_sum(const int *values LG_IN LG_SIZE(n), int n);
int tricky_fill(char *out LG_OUT LG_SIZE(n) LG_WRITTEN(lg_result), int n) LG_ERROR(-1);
int tricky_grow(char *out LG_OUT LG_SIZE(*length) LG_WRITTEN(*length), size_t *length LG_INOUT);
const char *tricky_text(int which);
int tricky_print(char *out LG_INOUT LG_SIZE(room) LG_STRING, size_t room, const char *format, ...) LG_PRINTF;
struct thing *tricky_open(int value);
int tricky_value(struct thing *thing);
int tricky_replace(struct thing **thing LG_INOUT);
void tricky_close(struct thing *thing LG_RELEASE);
notify tricky_set(notify function);
int tricky_call(notify function, void *data LG_DATA LG_KEPT);
enum colour tricky_colour(void);
void *tricky_data(void) LG_DATA;
struct point tricky_mirror(struct point p, enum colour c);
void tricky_halve(union number *number LG_INOUT);
double tricky_named(const struct named *named LG_IN, struct point *at LG_OUT);
const struct named *tricky_show(void) LG_SIZE(2);
double tricky_matrix(const double *m LG_IN LG_SIZE(rows * columns), long rows, long columns) LG_ERROR(-2.0);
const char *tricky_find(const char *text LG_STRING, int c) LG_WITHIN(text);
int tricky_open_file(const char *path) LG_ERRNO;
int tricky_crash(int *p LG_NULL) LG_ERROR(-7);
int tricky_loop(void) LG_ERROR(-8);
float tricky_count(unsigned char n) LG_AT_MOST(n);
/* Two types of functions that C spells alike. */
int tricky_two(int (*give)(const int *values LG_SIZE(2)));
int tricky_many(int (*give)(const int *values LG_SIZE(2000)));

#endif
