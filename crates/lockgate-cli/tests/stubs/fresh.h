/* A library whose answers each have their type, but do not go together: with each other, with earlier ones, or with what the program gave. */
#ifndef FRESH_H
#define FRESH_H
#include <lockgate/annotations.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>

LG_DOMAIN("fresh", memory=64M);
LG_ERRORS(int, -1);
LG_ERRORS(struct fresh_outer, {0});

/* What the library does from now on: 0 as it should, else the attack of that number. */
void fresh_mode(int mode);

struct fresh;
typedef void (*fresh_error)(struct fresh *f, const char *text);
struct fresh *fresh_new(fresh_error error, void *told LG_DATA);
void fresh_free(struct fresh *f LG_RELEASE);
int fresh_id(struct fresh *f) LG_ERROR(-7);

/* Arrays of pointers. */
struct fresh **fresh_children(struct fresh *f, int *n LG_OUT) LG_SIZE(*n) LG_BORROWED;
int fresh_children_out(struct fresh *f, struct fresh ***all LG_OUT LG_SIZE(*n) LG_BORROWED, int *n LG_OUT) LG_ERROR(-7);
const char **fresh_names(struct fresh *f, int *n LG_OUT) LG_STRINGS LG_SIZE(*n) LG_BORROWED;
const char **fresh_gaps(struct fresh *f, int *n LG_OUT) LG_STRINGS LG_NULLABLE LG_SIZE(*n) LG_BORROWED;
char *fresh_text(struct fresh *f) LG_STRING LG_FREED(free);
typedef void (*fresh_pairs)(void *user, const char **all LG_STRINGS LG_PAIRS);
int fresh_each(fresh_pairs each, void *user LG_DATA, int n) LG_ERROR(-7);

/* A callback's memory. */
typedef void (*fresh_filler)(void *user, char *room LG_OUT LG_SIZE(n), size_t n);
int fresh_fill(fresh_filler fill, void *user LG_DATA, size_t n) LG_ERROR(-7);
unsigned fresh_sum(const unsigned char *bytes LG_IN LG_SIZE(n), size_t n) LG_ERROR(7);

/* Errors that jump. */
typedef void (*fresh_jumper)(jmp_buf env LG_JUMP, int value);
/* (As the handle of libpng that gives it: the call that fails has nowhere to jump yet.) */
jmp_buf *fresh_jump(struct fresh *f LG_JUMPS, fresh_jumper by, size_t size) LG_JUMP_BUFFER(f);
int fresh_fail(struct fresh *f LG_JUMPS) LG_ERROR(-7);
void fresh_stop(struct fresh *f LG_JUMPS) __attribute__((noreturn));

/* One fact, which two functions tell; and one that a function tells that may say that it has failed. */
int fresh_size(struct fresh *f, unsigned *width LG_OUT, unsigned *height LG_OUT);
unsigned fresh_height(struct fresh *f);
int fresh_rows(struct fresh *f, unsigned char **rows LG_INOUT LG_ROWS(lg_told(fresh_size, f, height, fresh_height, f, lg_result)) LG_SIZE(8)) LG_ERROR(-7);
int fresh_row(struct fresh *f, unsigned char *row LG_INOUT LG_SIZE(lg_told(fresh_size, f, width))) LG_ERROR(-7);

/* Functions of the program's, and data for them, in a structure; and data given back. */
struct fresh_ops { void (*event)(void *user); void *user; int count; };
LG_FIELD(struct fresh_ops, user, LG_DATA);
int fresh_use(struct fresh *f, struct fresh_ops *ops LG_INOUT) LG_ERROR(-7);
void fresh_io(struct fresh *f, void (*io)(void *user), void *user LG_DATA);
void *fresh_io_of(struct fresh *f) LG_DATA LG_GIVEN(fresh_io);
struct request;
typedef int (*fresh_serve)(struct request *r);
void fresh_server(struct fresh *f, fresh_serve serve, void *user LG_DATA);
void *fresh_served(struct request *r) LG_DATA LG_GIVEN(fresh_server);
int fresh_go(struct fresh *f) LG_ERROR(-7);

/* Buffers that are moved over, text in structures, streams. */
struct fresh_stream { const char *in; unsigned in_left; char *out; unsigned out_left; };
LG_FIELD(struct fresh_stream, in, LG_IN LG_SIZE(in_left) LG_CURSOR);
LG_FIELD(struct fresh_stream, out, LG_OUT LG_SIZE(out_left) LG_CURSOR);
int fresh_move(struct fresh_stream *s LG_INOUT) LG_ERROR(-7);
struct fresh_label { int n; char name[8]; };
LG_FIELD(struct fresh_label, name, LG_STRING);
struct fresh_inner { char text[4]; };
LG_FIELD(struct fresh_inner, text, LG_STRING);
struct fresh_outer { int n; struct fresh_inner in; };
int fresh_label(struct fresh_label *label LG_OUT) LG_ERROR(-7);
struct fresh_outer fresh_outer(void);
const struct fresh_outer *fresh_outers(struct fresh *f, int *n LG_OUT) LG_SIZE(*n) LG_BORROWED;
int fresh_put(FILE *file, const char *text) LG_ERROR(-7);
int fresh_log(struct fresh *f, FILE *file LG_KEPT) LG_ERROR(-7);
int fresh_say(struct fresh *f, const char *text) LG_ERROR(-7);

#endif
