/* What no other header here says: results of every kind that fails, functions without parameters, disposal, texts in arrays. */
#pragma once
#include <lockgate/annotations.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

LG_DOMAIN("rest", memory=16M, directory=.);
LG_ERRORS(int, -1);
LG_ERRORS(unsigned int, 9);

#define REST_FLOAT 1.5
#define REST_TEXT "a \"text\""
#define REST_LARGE 0xffffffffffffffff

struct rest;
union rest_union { int number; double real; };
LG_ERRORS(union rest_union, {0});
typedef void (*rest_free)(void *);
/* Two kinds of failure of one pointer. */
int rest_open(struct rest **rest LG_OUT);
int rest_reopen(struct rest **rest LG_INOUT LG_RELEASE) LG_ERROR(-3);
void rest_close(struct rest *rest LG_RELEASE);
unsigned rest_unsigned(void);
union rest_union rest_union(union rest_union value);
int rest_bind(struct rest *rest, const void *blob LG_IN LG_SIZE(n), int n, rest_free done LG_DISPOSE(blob, -1));
int rest_ignored(void *nothing LG_IGNORE, const char *text LG_STRING);
/* Strings of lambda, in: a word of another language's. */
int lambda(int from, int match, const char *in LG_STRING);
int rest_errno(const char *path LG_STRING) LG_ERRNO LG_ERROR(-1);
struct rest *rest_handle_errno(void) LG_ERRNO;
int rest_within(const char *text LG_STRING, const char **at LG_OUT LG_WITHIN(text) LG_NULLABLE);
unsigned char *rest_place(struct rest *rest) LG_INSIDE;
int rest_set(struct rest *rest, const char **name LG_OUT LG_STRING);
void rest_ask(struct rest *rest, unsigned *flag LG_INOUT, float *real LG_INOUT, bool *truth LG_INOUT);
int rest_sized(const char *text LG_IN LG_SIZE(strlen(name) * 2 + *more / 3 % 5 - -1), const char *name LG_STRING, const int *more LG_IN);
int rest_either(const int *from LG_IN LG_SIZE(n) LG_NULLABLE, int *to LG_OUT LG_SIZE(n) LG_WRITTEN(n), int n);
int rest_chosen(const int *text LG_IN LG_SIZE(n < 0 ? m : n), int n, int m);
int rest_logic(const int *at LG_IN LG_SIZE((n > 1 && m >= 2) || !(n == m) ? n : (n != m) + (n <= m)), int n, int m);

/* Structures: each kind of field that goes in, and that comes out. */
struct rest_point { int x, y; bool on; };
struct rest_in { struct rest *handle; const void *inside; void *nothing; void *ignored; int (*hook)(void *user, int n); void *user; };
LG_FIELD(struct rest_in, inside, LG_INSIDE);
LG_FIELD(struct rest_in, nothing, LG_NULL);
LG_FIELD(struct rest_in, ignored, LG_IGNORE);
LG_FIELD(struct rest_in, user, LG_DATA);
int rest_take(struct rest *rest, const struct rest_in *in LG_IN);
struct rest_out { int n; const struct rest_point *points; struct rest *handle; const void *inside; };
LG_FIELD(struct rest_out, points, LG_IN LG_SIZE(n));
LG_FIELD(struct rest_out, handle, LG_BORROWED);
LG_FIELD(struct rest_out, inside, LG_INSIDE);
const struct rest_out *rest_give(struct rest *rest) LG_SIZE(1);
int rest_written(struct rest *rest, struct rest_out *out LG_OUT);
typedef int (*rest_seen)(void *user, const void *at LG_INSIDE, const struct rest_point *points LG_IN LG_SIZE(n), int n, struct rest_point by_value);
int rest_see(rest_seen seen, void *user LG_DATA);
struct rest_point rest_point(void) LG_ERROR({0});
/* (The middle of one structure that says where the rest lies.) */
int rest_points(struct rest *rest, struct rest_point *points LG_OUT LG_SIZE(n) LG_WRITTEN(n), int n);
