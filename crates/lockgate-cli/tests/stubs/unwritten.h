/* A library that leaves unwritten what it is given to write: its program finds there what it had itself, as with the library's own functions. */
#ifndef UNWRITTEN_H
#define UNWRITTEN_H
#include <lockgate/annotations.h>
#include <stdbool.h>
#include <stddef.h>

LG_DOMAIN("unwritten", memory=64M);
LG_ERRORS(int, -9);
LG_ERRORS(long, -9);

/* Of one number: 0, or -1 where all is left as it was. */
struct info { int a; char name[16]; double d; };
LG_FIELD(struct info, name, LG_STRING);
struct rec { const char *s; int n; long more[2]; };
LG_FIELD(struct rec, s, LG_OUT LG_STRING LG_BORROWED);
typedef struct thing thing;

/* What other calls pass lies where this one's was. */
int left_load(const char *text);
int left_int(int leave, int *v LG_OUT);
int left_long(int leave, long *v LG_OUT);
int left_bool(int leave, bool *v LG_OUT);
int left_double(int leave, double *v LG_OUT);
/* Nothing says that it failed. */
void left_silently(int leave, int *v LG_OUT);
int left_info(int leave, struct info *v LG_OUT);
/* Writes the first field. */
int left_some(struct info *v LG_OUT);
int left_infos(int leave, struct info *v LG_INOUT LG_SIZE(n), size_t n);
int left_text(int leave, const char **v LG_OUT LG_STRING LG_BORROWED);
int left_copy(int leave, char **v LG_OUT LG_STRING LG_FREED(free));
int left_rec(int leave, struct rec *v LG_OUT);
int left_thing(int leave, thing **v LG_OUT);
thing *left_thing_or(int leave, const char **why LG_OUT LG_STRING LG_BORROWED);
int left_ints(int leave, int *v LG_OUT LG_SIZE(n) LG_WRITTEN(lg_result == 0 ? n : 0), size_t n);
int left_half(int *v LG_INOUT LG_SIZE(n), size_t n);
int left_count(int leave, int *v LG_OUT LG_SIZE(*n) LG_WRITTEN(lg_result == 0 ? *n : 0), size_t *n LG_INOUT);
char *left_line(int leave, char *v LG_OUT LG_SIZE(n) LG_STRING LG_WRITTEN(lg_result ? n : 0), int n) LG_WITHIN(v);
int left_both(int leave, char *v LG_INOUT LG_SIZE(n) LG_STRING, int n);
int left_rows(int leave, char **rows LG_INOUT LG_ROWS(n) LG_SIZE(4), int n);

/* A structure that the library remembers: its numbers are one and the same on both sides, until that ends. */
struct counts { long total; const char *in; unsigned in_left; };
LG_FIELD(struct counts, in, LG_IN LG_SIZE(in_left) LG_CURSOR);
long left_kept(struct counts *counts LG_OUT LG_KEPT, int leave);
void left_kept_end(struct counts *counts LG_OUT LG_KEPT LG_RELEASE);

/* What the program's function leaves. */
int left_filled(void (*fill)(void *user, char *room LG_OUT LG_SIZE(n), size_t n), void *user LG_DATA);
struct form { int map[4]; void *data; double scale; };
LG_FIELD(struct form, data, LG_DATA);
int left_form(int (*fill)(void *user, struct form *form LG_OUT), void *user LG_DATA);

/* errno: of this call. */
int left_errno(int number) LG_ERRNO;

#endif
