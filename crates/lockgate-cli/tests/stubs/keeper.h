/* A library that gives things to keep: what its program frees, and how (tests/stubs.rs, tests/bindings.rs). */
#pragma once
#include <lockgate/annotations.h>
#include <stddef.h>

LG_DOMAIN("keeper", memory=16M, time=2000);
LG_ERRORS(int, -1);

typedef struct { int x, y; } keeper_point;

/* Freed with free(). */
char *keeper_join(const char *a, const char *b) LG_STRING LG_FREED(free);
unsigned char *keeper_bytes(size_t size, int fill) LG_SIZE(size) LG_FREED(free) LG_NULLABLE;
keeper_point *keeper_points(int n) LG_IN LG_SIZE(n) LG_FREED(free);
int keeper_explain(int code, char **text LG_OUT LG_STRING LG_FREED(free)) LG_ERROR(-1);
/* Freed by the library's own. */
char *keeper_own(const char *text) LG_STRING LG_FREED(keeper_free);
void keeper_free(void *memory LG_INSIDE);
/* Memory that the program fills; how large the library says that it is. */
void *keeper_alloc(size_t size) LG_OUT LG_SIZE(size) LG_FREED(keeper_take);
void *keeper_resize(void *memory LG_INSIDE LG_RELEASE LG_SIZE(keeper_room(memory)), size_t size) LG_SIZE(size) LG_FREED(keeper_take);
void keeper_take(void *memory LG_INSIDE);
size_t keeper_room(void *memory LG_INSIDE) LG_ERROR(0);
char *keeper_lend(size_t size) LG_LENT LG_SIZE(size);
int keeper_sum(size_t size);
int keeper_ask(int (*fill)(void *user, char *out LG_OUT LG_SIZE(size), int size), void *user LG_DATA) LG_ERROR(-1);
/* A string; hostile: so many bytes before or behind the last memory that the library gave, or lent. */
const char *keeper_say(int distance);
const void *keeper_place(void) LG_INSIDE;
/* Never. */
char *keeper_name(void) LG_STRING LG_BORROWED;
/* What lies before `used` is the program's, from earlier calls. */
typedef struct { char *at; size_t size, used; } keeper_buffer;
LG_FIELD(keeper_buffer, at, LG_INOUT LG_SIZE(size) LG_WRITTEN(used));
int keeper_fill(keeper_buffer *buffer LG_INOUT) LG_ERROR(-1);
/* Pieces of the library's heap that are in use. */
int keeper_alive(void);
/* How it answers from now on. */
void keeper_answer(int how);
