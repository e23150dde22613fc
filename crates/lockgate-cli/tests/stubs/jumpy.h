/* A library whose errors jump, whose buffers are as large as other functions said, and which reads and writes streams. */
#ifndef JUMPY_H
#define JUMPY_H
#include <lockgate/annotations.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

LG_ERRORS(int, -1);

struct engine;
struct item { int number; int length; };
typedef void (*engine_jump)(jmp_buf env LG_JUMP, int value);
typedef void (*engine_error)(struct engine *e, const char *text);

/* What the library does wrong from now on: 0 nothing. */
void jumpy_mode(int mode);

struct engine *jumpy_open(engine_error handler, void *data LG_DATA);
void jumpy_close(struct engine *e LG_RELEASE);
void *jumpy_data(const struct engine *e) LG_DATA;
jmp_buf *jumpy_set_jump(struct engine *e, engine_jump jump, size_t size) LG_JUMP_BUFFER(e);
/* Calls the handler, then jumps. */
int jumpy_fail(struct engine *e LG_JUMPS, int value);
void jumpy_stop(struct engine *e LG_JUMPS, int value) __attribute__((noreturn));
/* Something of another type. */
struct part;
struct part *jumpy_piece(struct engine *e);
void jumpy_free_part(struct part *part LG_RELEASE);
/* What the program goes on from. */
struct taken { const char *from; int size; int pos; };
LG_FIELD(struct taken, from, LG_IN LG_SIZE(size) LG_WRITTEN(pos));
int jumpy_take(struct taken *taken LG_INOUT) LG_ERROR(-1);
int jumpy_mark(int *at LG_OUT LG_AT_MOST(n), int n) LG_ERROR(-1);
/* Does not fail. */
int jumpy_ask(const struct engine *e);

void jumpy_size(struct engine *e, int width, int height, int *bytes LG_OUT);
int jumpy_row(struct engine *e LG_JUMPS, char *row LG_INOUT LG_SIZE(lg_told(jumpy_size, e, bytes)));
int jumpy_image(struct engine *e, char **rows LG_INOUT LG_ROWS(lg_told(jumpy_size, e, height)) LG_SIZE(lg_told(jumpy_size, e, bytes)));
int jumpy_names(char *const *names LG_IN LG_ROWS(n) LG_STRING, int n);
char **jumpy_list(int *n LG_OUT) LG_SIZE(*n) LG_BORROWED;
int jumpy_visit(struct engine *e LG_JUMPS, int (*visit)(struct engine *e, const struct item *item LG_IN, char *text LG_INOUT LG_SIZE(item->length)));

/* What goes both ways; lengths that are none; rows and fields that are strings. */
int jumpy_upper(char *text LG_INOUT LG_STRING LG_SIZE(n), int n) LG_ERROR(-1);
int jumpy_some(char *out LG_OUT LG_SIZE(*n) LG_WRITTEN(*n), int *n LG_INOUT) LG_ERROR(-1);
int jumpy_part(char *out LG_OUT LG_SIZE(room) LG_WRITTEN(*n), int room, int *n LG_OUT) LG_ERROR(-1);
const int *jumpy_list_of(int *n LG_OUT) LG_SIZE(*n);
struct label { const char *name; int n; };
LG_FIELD(struct label, name, LG_STRING);
int jumpy_label(const struct label *label LG_IN) LG_ERROR(-1);
int jumpy_labels(const struct label *labels LG_IN LG_SIZE(n), int n) LG_ERROR(-1);
int jumpy_print(const char *format, ...) LG_PRINTF LG_ERROR(-1);
char *jumpy_format(const char *format, ...) LG_STRING LG_BORROWED LG_FORMAT(jumpy_vformat, "", "");
char *jumpy_vformat(const char *format, va_list list) LG_STRING LG_BORROWED LG_FORMAT(jumpy_vformat, "", "");
/* Memory that stays the library's, and what it says in the middle of a call that writes rows. */
char *jumpy_room(int n) LG_SIZE(n) LG_BORROWED;
int jumpy_draw(char **rows LG_INOUT LG_ROWS(n) LG_SIZE(8), int n, void (*progress)(const char *what LG_SIZE(size), int size)) LG_ERROR(-1);

/* Keeps the address, and writes there later: that is what sharing means. */
void jumpy_look(const char *buffer LG_IN LG_SIZE(n), int n);
void jumpy_fill(char *buffer LG_OUT LG_SIZE(n) LG_WRITTEN(n), int n);
void jumpy_poke(char c);
int jumpy_peek(const char *buffer LG_IN LG_SIZE(n) LG_SHARED, int n) LG_ERROR(-1);
int jumpy_put(char *buffer LG_OUT LG_SIZE(n) LG_WRITTEN(n) LG_SHARED, int n) LG_ERROR(-1);

/* What was in the last vector register. */
unsigned long jumpy_seen_open(void) LG_ERROR(0) LG_POLICY(INTEGRITY);
unsigned long jumpy_seen_closed(void) LG_ERROR(0) LG_POLICY(MUTUAL_DISTRUST | COUNTED);

/* Bytes copied. */
int jumpy_copy(FILE *from, FILE *to);

#endif
