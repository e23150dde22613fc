/* The library, and what it does when it is hostile. */
#include "jumpy.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct engine {
    engine_error handler;
    void *data;
    engine_jump jump;
    jmp_buf env;
    int width, height;
};

static int mode;
static struct engine *first, *second; /* opened last but one, and last */

void jumpy_mode(int to) { mode = to; }

struct engine *jumpy_open(engine_error handler, void *data)
{
    struct engine *e = calloc(1, sizeof *e);
    e->handler = handler;
    e->data = data;
    first = second;
    second = e;
    return e;
}

/* (Its memory stays: no engine gets the place of another.) */
void jumpy_close(struct engine *e) { e->handler = 0; }
void *jumpy_data(const struct engine *e) { return e->data; }

jmp_buf *jumpy_set_jump(struct engine *e, engine_jump jump, size_t size)
{
    e->jump = jump;
    if (mode == 1)
        return (jmp_buf *)((char *)e + (1L << 40));
    return mode == 2 || size != sizeof e->env ? NULL : &e->env;
}

int jumpy_fail(struct engine *e, int value)
{
    if (e->handler)
        e->handler(e, "failing");
    if (mode == 3) /* a jmp_buf that it was never given */
        e->jump(*(jmp_buf *)((char *)e->env + 8), value);
    if (mode == 4) /* that of another handle */
        e->jump(e == first ? second->env : first->env, value);
    if (mode == 5)
        return *(volatile int *)8;
    if (mode == 6)
        return value;
    e->jump(e->env, value);
    return -2;
}

void jumpy_stop(struct engine *e, int value)
{
    if (mode == 6)
        __builtin_trap();
    e->jump(e->env, value);
    abort();
}

struct part *jumpy_piece(struct engine *e) { return mode == 19 ? (struct part *)e : malloc(8); }
void jumpy_free_part(struct part *part) { free(part); }

int jumpy_take(struct taken *taken)
{
    taken->pos = mode == 20 ? taken->size + 1 : mode == 21 ? -1 : taken->size;
    return 0;
}

int jumpy_mark(int *at, int n)
{
    *at = mode == 20 ? n + 1 : mode == 21 ? -1 : n;
    return 0;
}

int jumpy_ask(const struct engine *e)
{
    if (mode == 7)
        e->jump(*(jmp_buf *)(size_t)&e->env, 1);
    return 5;
}

void jumpy_size(struct engine *e, int width, int height, int *bytes)
{
    e->width = width;
    e->height = height;
    *bytes = mode == 8 ? -1 : width * 2;
}

int jumpy_row(struct engine *e, char *row)
{
    /* More than it said fits only its own memory. */
    memset(row + 1, 'r', mode == 9 ? 4096 : (size_t)e->width * 2 - 1);
    return row[0];
}

int jumpy_image(struct engine *e, char **rows)
{
    for (int i = 0; i < e->height; i++)
        if (rows[i])
            memset(rows[i], 'a' + i, mode == 10 ? 16 : (size_t)e->width * 2);
    if (mode == 10) /* where the program's rows are is not its affair */
        memset(rows, 0x41, 8 * (size_t)e->height);
    return e->height;
}

int jumpy_names(char *const *names, int n)
{
    int length = 0;
    for (int i = 0; i < n; i++)
        length += names[i] ? (int)strlen(names[i]) : 100;
    return length;
}

char **jumpy_list(int *n)
{
    static char *list[] = {"one", "two", 0};
    list[1] = mode == 11 ? (char *)(1L << 40) : "two";
    *n = mode == 12 ? 1 << 30 : 2;
    return list;
}

int jumpy_visit(struct engine *e, int (*visit)(struct engine *e, const struct item *item, char *text))
{
    static char text[8] = "visited";
    struct item item = {3, mode == 13 ? -1 : 8};
    if (mode == 14)
        return visit((struct engine *)((char *)e + (1L << 40)), &item, text);
    if (mode == 15)
        return visit(e, (struct item *)1, text);
    int result = visit(e, &item, text);
    return result + text[0];
}

__attribute__((naked)) unsigned long jumpy_seen_open(void) { __asm__("movq %xmm15,%rax\n\tret"); }
__attribute__((naked)) unsigned long jumpy_seen_closed(void) { __asm__("movq %xmm15,%rax\n\tret"); }

int jumpy_upper(char *text, int n)
{
    int length = 0;
    for (; length < n && text[length]; length++)
        text[length] -= text[length] >= 'a' ? 'a' - 'A' : 0;
    if (mode == 17)
        memset(text, 'Z', (size_t)n);
    return length;
}

int jumpy_some(char *out, int *n)
{
    memset(out, 's', (size_t)*n);
    *n = mode == 18 ? -1 : *n - 1;
    return 0;
}

int jumpy_part(char *out, int room, int *n)
{
    memset(out, 'p', (size_t)room);
    *n = mode == 18 ? -1 : room - 1;
    return 0;
}

const int *jumpy_list_of(int *n)
{
    static const int list[4] = {1, 2, 3, 4};
    *n = mode == 18 ? -1 : 4;
    return list;
}

int jumpy_label(const struct label *label) { return (int)strlen(label->name) + label->n; }
int jumpy_labels(const struct label *labels, int n) { return n ? jumpy_label(labels) : 0; }

static char room[256];

int jumpy_print(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(room, sizeof room, format, list);
    va_end(list);
    return length;
}

char *jumpy_vformat(const char *format, va_list list)
{
    vsnprintf(room, sizeof room, format, list);
    return room;
}

char *jumpy_format(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = jumpy_vformat(format, list);
    va_end(list);
    return text;
}

char *jumpy_room(int n) { return (size_t)n <= sizeof room ? room : 0; }

int jumpy_draw(char **rows, int n, void (*progress)(const char *, int))
{
    for (int i = 0; i < n; i++)
        memcpy(rows[i], "written", 8);
    memset(room, 0x41, sizeof room);
    progress(room, sizeof room);
    return n;
}

static char *looked_at;

void jumpy_look(const char *buffer, int n) { looked_at = n ? (char *)buffer : looked_at; }

void jumpy_fill(char *buffer, int n)
{
    looked_at = buffer;
    memset(buffer, 'f', (size_t)n);
}

void jumpy_poke(char c) { looked_at[0] = c; }

int jumpy_peek(const char *buffer, int n)
{
    jumpy_look(buffer, buffer ? n : 0);
    return buffer ? buffer[0] : 0;
}

int jumpy_put(char *buffer, int n)
{
    looked_at = buffer;
    memset(buffer, 'p', (size_t)n);
    return n;
}

int jumpy_copy(FILE *from, FILE *to)
{
    char buffer[700];
    size_t n;
    int all = 0;
    /* Behind musl's FILE is the cookie, a small number. This is another that it was given, for something else. */
    if (mode == 16) {
        uint64_t *word = (uint64_t *)(void *)from + 28;
        while (*word == 0 || *word > 1000)
            word++;
        *word = (uint64_t)first->data;
    }
    while ((n = fread(buffer, 1, sizeof buffer, from)) > 0) {
        if (fwrite(buffer, 1, n, to) != n)
            return -1;
        all += (int)n;
    }
    return all;
}
