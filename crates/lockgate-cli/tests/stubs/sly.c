/* The library. */
#include "sly.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int mode;

void sly_mode(int to) { mode = to; }

static char text[] = "x";
static volatile struct option options[1 << 16];
static volatile unsigned current;
static volatile char *volatile ending;
static volatile union { size_t n; char bytes[16]; } piece = {8};

static void pause_a_little(void)
{
    for (volatile int i = 0; i < 20; i++)
        ;
}

void sly_spin(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        unsigned at = current;
        volatile char *end = ending;
        options[at * 4 + 1].name = text;
        piece.n = 0x7fffffffff;
        if (end)
            *end = 'A';
        pause_a_little();
        options[at * 4 + 1].name = 0;
        piece.n = 8;
        if (end)
            *end = 0;
        pause_a_little();
    }
}

const struct option *sly_options(void)
{
    current = (current + 1) % 16000;
    options[current * 4].name = text;
    options[current * 4 + 2].name = 0;
    return (const struct option *)&options[current * 4];
}

const struct wide *sly_wide(void)
{
    /* Up to the end of the memory that it has. */
    static char *all;
    if (!all) {
        all = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(all, 'A', 3 * 4096);
        mprotect(all + 3 * 4096, 4096, PROT_NONE);
    }
    struct wide *last = (struct wide *)(all + 3 * 4096) - 1;
    last->key = mode == 1;
    return last - 1;
}

/* So many strings, up to the end of the memory that it has. */
const char **sly_edge(int n)
{
    static char *all;
    if (!all) {
        all = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(all + 4096, 4096, PROT_NONE);
    }
    const char **end = (const char **)(all + 4096), **texts = end - n - 1;
    for (int i = 0; i < n; i++)
        texts[i] = text;
    end[-1] = mode == 1 ? text : 0;
    return texts;
}

int sly_edges(int n, int (*each)(const char **texts, void *user), void *user)
{
    return each(sly_edge(n), user);
}

int sly_string(char *out, size_t size)
{
    memset(out, 'A', size);
    out[size - 1] = 0;
    ending = out + size - 1;
    return 0;
}

/* More to copy than anybody has time for. */
const char **sly_list(void)
{
    static const char *list[100001];
    static char *long_text;
    if (!long_text) {
        long_text = malloc(4 << 20);
        memset(long_text, 'x', (4 << 20) - 1);
    }
    for (int i = 0; i < 100000; i++)
        list[i] = long_text;
    return list;
}

const char **sly_some(int n)
{
    static const char *some[] = {"one", "two", 0};
    return n < 3 ? some : 0;
}

const char *sly_find(const char *in, int c) { return mode == 1 ? in + strlen(in) + 1 : strchr(in, c); }

const struct entry *sly_search(const struct entry *base, size_t n)
{
    return mode == 1 ? base + n : mode == 2 ? (const struct entry *)((const char *)base + 8) : base + n - 1;
}

int sly_count(int *out, int room, int *got)
{
    for (int i = 0; i < room; i++)
        out[i] = i;
    *got = mode == 1 ? room + 1000 : room;
    return 0;
}

int sly_stream(const char **in, size_t *left, char **out, size_t *room)
{
    size_t n = *left < *room ? *left : *room;
    for (size_t i = 0; i < n; i++)
        (*out)[i] = (*in)[i] | 0x20;
    *in += n, *left -= n, *out += n, *room -= n;
    switch (mode) {
    case 1: *in += 1; break;
    case 2: *left -= 1; break;
    case 3: *out = text; break;
    case 4: *room += 8; break;
    case 5: *out -= n + 1; break;
    case 6: *in -= n; break;
    case 7: *left += 4096; break;
    }
    return 0;
}

static void dirty(void *at, size_t size) { memset(at, 0xee, size); }

__asm__(".globl sly_flag\n.type sly_flag, @function\nsly_flag: movl $0xee, %eax\n ret\n.size sly_flag, . - sly_flag");

void sly_flags(bool *one, bool *many, int n)
{
    dirty(one, 1);
    dirty(many, (size_t)n);
}

struct state sly_state(void)
{
    struct state state;
    dirty(&state, sizeof state);
    return state;
}

static struct state states[2];

const struct state *sly_states(void)
{
    dirty(states, sizeof states);
    return states;
}

/* What lies there, as text. */
const char *sly_text(void)
{
    memset(states, 'A', sizeof states);
    ((char *)states)[sizeof states - 1] = 0;
    return (const char *)states;
}

int sly_index(int n) { return mode == 1 ? -2000000 : mode == 2 ? -1 : n - 1; }
float sly_share(int n) { return mode == 1 ? -1.0f : mode == 2 ? __builtin_nanf("") : mode == 3 ? -2.0f : (float)n; }

int sly_end(const char *in, const char **end)
{
    if (mode != 2)
        *end = mode == 1 ? 0 : in + 1;
    return 1;
}

int sly_perhaps(const char *in, const char **end) { return sly_end(in, end); }

/* The size of a blob at the end of the window, when it is asked for again. */
static int asked;
const void *sly_blob(int n)
{
    asked = n;
    return (const void *)((uintptr_t)states | 0xfffffff0);
}

int sly_blob_size(int n) { return asked++ > n ? 1 << 30 : 0; }
const void *sly_wide_blob(int n) { return sly_blob(n); }
long sly_wide_size(int n) { return asked++ > n ? 1L << 40 : 0; }
const double *sly_numbers(int n) { return sly_blob(n); }
int sly_numbers_count(int n) { return asked++ > n ? 0x7fffffff : 0; }

void sly_fill(struct state *state) { dirty(state, sizeof *state); }

typedef int (*any_told)(unsigned, const struct state *, const bool *, void *);

int sly_tell(sly_told told, void *user)
{
    struct state state;
    bool more[2];
    dirty(&state, sizeof state);
    dirty(more, 2);
    return ((any_told)told)(0xee, &state, more, user);
}

static void *const wild = (void *)0x123456789000;

const struct view *sly_view(void)
{
    static struct view view;
    static size_t three = 3;
    static char bytes[] = "abc";
    view = (struct view){bytes, &three, "four", "more"};
    if (mode == 1)
        view.n = wild;
    if (mode == 2)
        view.n = 0;
    if (mode == 3)
        view.name = wild;
    if (mode == 4)
        view.name = 0;
    return &view;
}

int sly_each(sly_piece call, void *user, int times)
{
    int all = 0;
    if (mode == 1)
        return call("abc", 0, user);
    if (mode == 2)
        return call("abc", wild, user);
    for (int i = 0; i < times; i++)
        all |= call((const char *)piece.bytes, (const size_t *)&piece.n, user);
    return all;
}

int sly_get(char *out, size_t n, sly_piece call, void *user)
{
    memset(out, 'g', n);
    return call("abc", (const size_t *)&piece.n, user);
}

int sly_names(sly_named named, void *user)
{
    return named("bytes", mode == 1 ? wild : mode == 2 ? 0 : "name", user);
}

struct box {
    void *user;
    sly_event event;
    FILE *file;
};

static struct box *last, *before;
static void *stale;

struct box *sly_box(void)
{
    if (mode == 5)
        return last;
    before = last;
    last = calloc(1, sizeof *last);
    return last;
}

struct box *sly_part(struct box *box)
{
    struct box *part = calloc(1, sizeof *part);
    *part = *box;
    return part;
}

void sly_free(struct box *box)
{
    stale = box->user;
    if (mode == 7)
        __builtin_trap();
    if (box == last)
        last = 0;
    free(box);
}

void sly_user(struct box *box, void *user) { box->user = user; }
void sly_on(struct box *box, sly_event event, void *user) { *box = (struct box){user, event, 0}; }

int sly_close(struct box *box)
{
    stale = box->user;
    return mode == 8;
}

struct book *sly_book(void)
{
    static long books[64], used;
    return (struct book *)&books[mode == 5 ? used : ++used];
}

int sly_pages(struct book *book) { return book ? 4 : -1; }

int sly_page(struct book *book, char *out)
{
    memset(out, 'p', 4);
    return sly_pages(book);
}

void sly_itself(struct box *box) { box->user = box; }
void sly_handler(struct box *box, sly_event event) { box->event = event; }

int sly_run(struct box *box, int n)
{
    void *user = box->user;
    switch (mode) {
    case 1: user = before; break;       /* another handle */
    case 2: user = before->user; break; /* another's data */
    case 3: user = stale; break;        /* one that is no more */
    case 4: user = box; break;          /* the handle itself, unasked */
    }
    box->event(user, n);
    return 0;
}

void *sly_user_of(struct box *box) { return mode == 2 ? before->user : box->user; }

static int read_one(FILE *file);

static int first(FILE *file) { return file ? read_one(file) : -2; }

int sly_load(struct box *box, FILE *file)
{
    box->file = file;
    return first(file);
}

int sly_keep(struct box *box, FILE *file) { return sly_load(box, file); }

int sly_read(struct box *box)
{
    return first(mode == 2 ? before->file : box->file);
}

/* The stream's functions with what is no stream. */
void *fopencookie(void *cookie, void *how, uint64_t a, uint64_t b, uint64_t c, uint64_t d, void *read, void *write,
                  void *seek, void *close)
{
    static struct { int64_t (*read)(void *, void *, uint64_t); void *cookie; } streams[64];
    static int used;
    (void)how, (void)a, (void)b, (void)c, (void)d, (void)write, (void)seek, (void)close;
    streams[used].read = (int64_t (*)(void *, void *, uint64_t))read;
    streams[used].cookie = cookie;
    return &streams[used++];
}

int setvbuf(FILE *file, char *buffer, int how, size_t size)
{
    (void)file, (void)buffer, (void)how, (void)size;
    return 0;
}

void clearerr(FILE *file) { (void)file; }
void __fseterr(FILE *file) { (void)file; }
int fgetc(FILE *file) { return (void)file, EOF; }
int fflush(FILE *file) { return (void)file, 0; }
int fclose(FILE *file) { return (void)file, 0; }
int feof(FILE *file) { return (void)file, 0; }
int ferror(FILE *file) { return (void)file, 0; }
size_t __freadahead(FILE *file) { return (void)file, 0; }

static int read_one(FILE *file)
{
    struct { int64_t (*read)(void *, void *, uint64_t); void *cookie; } *stream = (void *)file;
    static char byte[64];
    static const char fixed[64] = "fixed";
    void *cookie = mode == 1 ? (void *)last : mode == 3 ? last->user : stream->cookie;
    return stream->read(cookie, mode == 9 ? (char *)(uintptr_t)fixed : byte, 1) == 1 ? byte[0] : -1;
}

int sly_call(sly_event event, void *user)
{
    event(user, 1);
    return 0;
}

void *sly_buffer(struct box *box, int *size)
{
    static char buffer[64];
    if (mode != 6)
        return buffer;
    /* Less than was asked for, at the end of everything. */
    *size = 1;
    return (void *)((uintptr_t)box | 0xffffffff);
}

int sly_withdraw(int amount)
{
    *(volatile int *)0 = amount;
    return 1;
}

int sly_sum(const unsigned char *numbers, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += numbers[i];
    return sum;
}

void sly_double(struct point *points, int n)
{
    for (int i = 0; i < n; i++)
        points[i] = (struct point){points[i].x * 2, points[i].y * 2};
}
