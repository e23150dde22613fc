/* A library that attacks what clients conclude from its answers: twice the same question, another's data, an end that is not there. */
#ifndef SLY_H
#define SLY_H
#include <lockgate/annotations.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

LG_DOMAIN("sly", memory=256M, time=2000);
LG_ERRORS(int, -1);
LG_ERRORS(struct state, {0});

/* What the library does from now on: 0 as it should, else the attack of that number. */
void sly_mode(int mode);
/* Changes what it has given out, `rounds` times: for another thread. */
void sly_spin(int rounds);

/* Ends. */
struct option { const char *name; long value; };
LG_FIELD(struct option, name, LG_STRING LG_NULLABLE);
const struct option *sly_options(void) LG_UNTIL(name);
struct wide { int key; char name[256] LG_BYTES; };
const struct wide *sly_wide(void) LG_UNTIL(key);
const char **sly_edge(int n) LG_STRINGS LG_BORROWED;
int sly_edges(int n, int (*each)(const char **texts LG_STRINGS, void *user), void *user LG_DATA) LG_ERROR(-7);
int sly_string(char *out LG_OUT LG_STRING LG_SIZE(size) LG_WRITTEN(size), size_t size);
const char **sly_list(void) LG_STRINGS LG_BORROWED;
const char **sly_some(int n) LG_STRINGS LG_SIZE(n) LG_BORROWED;

/* Numbers that are none, places that are nowhere, raw bytes over a structure. */
int sly_index(int n) LG_AT_MOST(n - 1) LG_ERROR(-1);
float sly_share(int n) LG_AT_MOST(n) LG_ERROR(-2.0f);
int sly_end(const char *text LG_STRING, const char **end LG_OUT LG_WITHIN(text)) LG_ERROR(-7);
int sly_perhaps(const char *text LG_STRING, const char **end LG_OUT LG_WITHIN(text) LG_NULLABLE) LG_ERROR(-7);
const char *sly_text(void) LG_STRING;
const void *sly_blob(int n) LG_SIZE(sly_blob_size(n));
int sly_blob_size(int n) LG_ERROR(0);
const void *sly_wide_blob(int n) LG_SIZE(sly_wide_size(n));
long sly_wide_size(int n) LG_ERROR(0);
const double *sly_numbers(int n) LG_SIZE(sly_numbers_count(n));
int sly_numbers_count(int n) LG_ERROR(0);

/* Places within. */
const char *sly_find(const char *text LG_STRING, int c) LG_WITHIN(text);
struct entry { long key, value[7]; };
const struct entry *sly_search(const struct entry *base LG_IN LG_SIZE(n), size_t n) LG_WITHIN(base);

/* Pointers that move on through buffers, and numbers that say how far. */
int sly_count(int *out LG_OUT LG_SIZE(room) LG_WRITTEN(*got), int room, int *got LG_OUT) LG_ERROR(-7);
int sly_stream(const char **in LG_IN LG_CURSOR LG_SIZE(*left), size_t *left LG_INOUT, char **out LG_OUT LG_CURSOR LG_SIZE(*room),
               size_t *room LG_INOUT) LG_ERROR(-7);

/* Booleans. */
struct state { int a; bool b; struct { int n; bool c[2]; } in; };
typedef int (*sly_told)(bool one, const struct state *state LG_IN, const bool *more LG_IN LG_SIZE(2), void *user);
bool sly_flag(void);
void sly_flags(bool *one LG_OUT, bool *many LG_OUT LG_SIZE(n) LG_WRITTEN(n), int n);
struct state sly_state(void);
const struct state *sly_states(void) LG_SIZE(2);
void sly_fill(struct state *state LG_OUT);
int sly_tell(sly_told told, void *user);

/* Sizes behind pointers. */
struct view { const char *bytes; const size_t *n; const char *name; const char *more; };
LG_FIELD(struct view, bytes, LG_IN LG_SIZE(*n) LG_NULLABLE);
LG_FIELD(struct view, n, LG_IN LG_SIZE(1) LG_NULLABLE);
LG_FIELD(struct view, name, LG_STRING LG_NULLABLE);
LG_FIELD(struct view, more, LG_IN LG_SIZE(strlen(name)) LG_NULLABLE);
const struct view *sly_view(void) LG_SIZE(1);
typedef int (*sly_piece)(const char *bytes LG_IN LG_SIZE(*n), const size_t *n LG_IN, void *user);
typedef int (*sly_named)(const char *bytes LG_IN LG_SIZE(strlen(name)), const char *name LG_STRING, void *user);
int sly_each(sly_piece piece, void *user LG_DATA, int times) LG_ERROR(-1);
int sly_get(char *out LG_OUT LG_SIZE(n) LG_WRITTEN(n), size_t n, sly_piece piece, void *user) LG_ERROR(-1);
int sly_names(sly_named named, void *user) LG_ERROR(-1);

/* Handles, the program's data, its streams. */
struct box;
typedef void (*sly_event)(void *user, int n);
struct box *sly_box(void);
struct box *sly_part(struct box *box);
void sly_free(struct box *box LG_RELEASE);
void sly_user(struct box *box, void *user LG_DATA LG_SHOWN(box));
void sly_itself(struct box *box LG_DATA);
void sly_handler(struct box *box, sly_event event);
int sly_run(struct box *box, int n) LG_ERROR(-1);
void *sly_user_of(struct box *box) LG_DATA LG_GIVEN(sly_user);
int sly_load(struct box *box, FILE *file LG_FOR_CALL) LG_ERROR(-1);
int sly_keep(struct box *box, FILE *file LG_KEPT) LG_ERROR(-1);
int sly_read(struct box *box) LG_ERROR(-1);
void sly_on(struct box *box, sly_event event, void *user);
int sly_close(struct box *box LG_RELEASE) LG_ERROR(-1);
struct book;
struct book *sly_book(void);
int sly_pages(struct book *book) LG_ERROR(-1) LG_AT_MOST(4096);
int sly_page(struct book *book, char *out LG_INOUT LG_SIZE(lg_told(sly_pages, book, lg_result))) LG_ERROR(-1);
int sly_call(sly_event event, void *user) LG_ERROR(-1);

/* For bindings: memory that is lent, crashes, numbers, results in arrays. */
void *sly_buffer(struct box *box, int *size LG_INOUT) LG_LENT LG_SIZE(*size);
int sly_withdraw(int amount) LG_ERROR(0);
int sly_sum(const unsigned char *numbers LG_IN LG_SIZE(n), int n);
struct point { int x, y; };
void sly_double(struct point *points LG_INOUT LG_SIZE(n), int n);

#endif
