/* A program that believes what C lets it believe: an end is there, a size is that of the bytes, data is what was given. */
#include <pthread.h>
#include <sly.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAST_ERROR lg_sly_error
#define SET_MODE sly_mode
#include "check.h"

static void *spin(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE))
        sly_spin(100000);
    return 0;
}

static int on_piece(const char *bytes, const size_t *n, void *user)
{
    (void)bytes;
    CHECK(*n == 8 || *n == 3);
    ++*(int *)user;
    return *n != 8 && *n != 3;
}

/* Another thread of the program's is in the library, and changes what has just been looked at. */
static void races(void)
{
    int stop = 0, pieces = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, spin, &stop) == 0);
    for (int i = 0; i < 20000; i++) {
        const struct option *options = sly_options();
        for (; options && options->name; options++)
            CHECK(strcmp(options->name, "x") == 0);
        sly_each(on_piece, &pieces, 20);
    }
    size_t size = 100000;
    char *name = malloc(size);
    for (int i = 0; i < 1000; i++)
        CHECK(sly_string(name, size) != 0 || memchr(name, 0, size));
    free(name);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, 0);
    printf("%d pieces\n", pieces);
}

/* What a callback was given is its own until it returns, whatever its calls and their callbacks are given meanwhile. */
static int on_edges(const char **texts, void *user)
{
    int *deep = user, n = *deep, sum = 0;
    const char *before[64];
    for (int i = 0; i < n; i++)
        CHECK(strcmp(before[i] = texts[i], "x") == 0);
    CHECK(texts[n] == NULL);
    if (n) {
        *deep = n - 1;
        sum = sly_edges(n - 1, on_edges, deep);
        CHECK(sly_edge(n - 1) != NULL);
    }
    CHECK(memcmp(before, texts, (size_t)n * sizeof *texts) == 0 && texts[n] == NULL);
    return sum + n;
}

static void edges(void)
{
    for (int n = 0; n < 40; n++) {
        const char **texts = sly_edge(n);
        for (int i = 0; texts && i < n; i++)
            CHECK(strcmp(texts[i], "x") == 0);
        CHECK(texts && texts[n] == NULL);
        FAILS(1, sly_edge(n) == NULL, LG_STUB_LENGTH, "result");
    }
    int deep = 30;
    CHECK(sly_edges(30, on_edges, &deep) == 30 * 31 / 2);
}

static void ends(void)
{
    edges();
    const struct wide *wide = sly_wide();
    CHECK(wide && wide[0].key && !wide[1].key);
    FAILS(1, sly_wide() == NULL, LG_STUB_LENGTH, "result");
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    FAILS(0, sly_list() == NULL, LG_STUB_LENGTH, "result");
    clock_gettime(CLOCK_MONOTONIC, &to);
    CHECK(to.tv_sec - from.tv_sec < 30);
}

static void places(void)
{
    const char *text = "find me";
    CHECK(sly_find(text, 'm') == text + 5 && sly_find(text, 0) == text + 7);
    FAILS(1, sly_find(text, 'm') == NULL, LG_STUB_POINTER, "result");
    struct entry entries[3] = {{0}};
    CHECK(sly_search(entries, 3) == entries + 2);
    FAILS(1, sly_search(entries, 3) == NULL, LG_STUB_POINTER, "result");
    FAILS(2, sly_search(entries, 3) == NULL, LG_STUB_POINTER, "result");
}

/* A call within a callback has its own part of the stage. */
static int on_get(const char *bytes, const size_t *n, void *user)
{
    char text[96];
    (void)bytes, (void)n;
    memset(text, 'x', sizeof text);
    text[95] = 0;
    CHECK(sly_find(text, 0) == text + 95);
    ++*(int *)user;
    return 0;
}

static void nested_calls(void)
{
    char out[64] = "";
    int calls = 0;
    CHECK(sly_get(out, sizeof out, on_get, &calls) == 0 && calls == 1);
    for (size_t i = 0; i < sizeof out; i++)
        CHECK(out[i] == 'g');
}

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0:detect_stack_use_after_return=1"; }

static void numbers(void)
{
    const char **some = sly_some(2);
    CHECK(some && strcmp(some[1], "two") == 0);
    FAILS(0, sly_some(-1) == NULL, LG_STUB_SIZE, "result");
    struct book *book = sly_book();
    char page[4];
    CHECK(sly_pages(book) == 4 && sly_page(book, page) == 4 && page[3] == 'p');
    FAILS(5, sly_book() == NULL, LG_STUB_HANDLE, "result");
}

/* The byte of a bool. */
static int byte(const void *at) { return *(const unsigned char *)at; }

static void clean(const struct state *state)
{
    CHECK(byte(&state->b) == 1);
    CHECK(byte(&state->in.c[0]) == 1 && byte(&state->in.c[1]) == 1);
}

static int on_told(bool one, const struct state *state, const bool *more, void *user)
{
    (void)user;
    clean(state);
    CHECK(byte(&one) == 1 && byte(&more[0]) == 1 && byte(&more[1]) == 1);
    return 7;
}

static void booleans(void)
{
    bool flag = sly_flag(), one = 0, many[3] = {0};
    CHECK(byte(&flag) == 1);
    sly_flags(&one, many, 3);
    CHECK(byte(&one) == 1 && byte(&many[0]) == 1 && byte(&many[2]) == 1);
    struct state state = sly_state(), filled;
    clean(&state);
    const struct state *states = sly_states();
    CHECK(states != NULL);
    clean(states);
    clean(states + 1);
    sly_fill(&filled);
    clean(&filled);
    CHECK(sly_tell(on_told, 0) == 7);
}

/* A number that says where is not below 0, and a pointer into something is one. */
/* The program goes on behind what was moved over, and what the library says of that by number is the same. */
static void moves_on(void)
{
    char got[] = "....", *to = got;
    const char *from = "ABCDEF";
    size_t left = 6, room = 4;
    CHECK(sly_stream(&from, &left, &to, &room) == 0 && left == 2 && room == 0 && !strcmp(from, "EF"));
    CHECK(to == got + 4 && !strcmp(got, "abcd"));
    static const struct { int mode; enum lg_stub_kind kind; const char *what; } wrong[] = {
        {1, LG_STUB_LENGTH, "in"},   {2, LG_STUB_LENGTH, "in"},   {3, LG_STUB_POINTER, "out"},
        {4, LG_STUB_LENGTH, "out"}, {5, LG_STUB_POINTER, "out"}, {6, LG_STUB_LENGTH, "in"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *start = from = "ABCDEF";
        to = strcpy(got, "....");
        left = 6, room = 4;
        FAILS(wrong[i].mode, sly_stream(&from, &left, &to, &room) == -7, wrong[i].kind, wrong[i].what);
        CHECK(from == start && to == got && left == 6 && room == 4 && !strcmp(got, "...."));
    }
    from = NULL, left = 0, room = 4;
    CHECK(sly_stream(&from, &left, &to, &room) == 0 && !from && !left && room == 4 && to == got);
    FAILS(7, sly_stream(&from, &left, &to, &room) == -7, LG_STUB_LENGTH, "in");
    CHECK(!from && !left && room == 4 && to == got);
    /* One variable cannot stand at two places. */
    to = strcpy(got, "....");
    left = room = 4;
    FAILS(0, sly_stream((const char **)&to, &left, &to, &room) == -7, LG_STUB_POINTER, "out");
    CHECK(to == got && left == 4 && room == 4 && !strcmp(got, "...."));
}

static void bounds(void)
{
    CHECK(sly_index(10) == 9 && sly_share(3) == 3.0f);
    FAILS(1, sly_index(10) == -1, LG_STUB_LENGTH, "result");
    FAILS(1, sly_share(3) == -2.0f, LG_STUB_LENGTH, "result");
    FAILS(2, sly_share(3) == -2.0f, LG_STUB_LENGTH, "result");
    sly_mode(2);
    CHECK(sly_index(10) == -1);
    sly_mode(3);
    CHECK(sly_share(3) == -2.0f);
    sly_mode(0);
    const char *text = "text", *end = "mine";
    const char *mine = end;
    CHECK(sly_end(text, &end) == 1 && end == text + 1);
    end = mine;
    FAILS(1, sly_end(text, &end) == -7 && end == mine, LG_STUB_NULL, "end");
    /* Nor does the program follow its own pointer for one that the library has set. */
    FAILS(2, sly_end(text, &end) == -7 && end == mine, LG_STUB_NULL, "end");
    sly_mode(1);
    CHECK(sly_perhaps(text, &end) == 1 && end == 0);
    sly_mode(0);
    moves_on();
    /* What was made a bool stays one. */
    const struct state *states = sly_states();
    clean(states);
    CHECK(sly_text() != NULL);
    clean(states);
    /* A size that is asked for again leads to nothing that is not a copy of the library's, or zeros. */
    const unsigned char *blob = sly_blob(1);
    int size = sly_blob_size(1);
    CHECK(blob && size == 1 << 30);
    for (int i = 64; blob && i < size; i += 4096)
        CHECK(blob[i] == 0);
    CHECK(sly_wide_blob(1) != NULL);
    FAILS(0, sly_wide_size(1) == 0, LG_STUB_LENGTH, "result");
    /* Nor is more than a mirror has room for, in elements that are larger. */
    CHECK(sly_numbers(1) != NULL);
    FAILS(0, sly_numbers_count(1) == 0, LG_STUB_LENGTH, "result");
}

/* Of memory that the library can change, nothing is concluded. */
static void shared(void)
{
    char *mine = lg_sly_alloc(4096);
    CHECK(mine != NULL);
    strcpy(mine, "find me");
    FAILS(0, sly_find(mine, 'm') == NULL, LG_STUB_POINTER, "text");
    struct box *box = sly_box();
    int *size = (int *)(mine + 64);
    *size = 16;
    FAILS(0, sly_buffer(box, size) == NULL, LG_STUB_POINTER, "size");
    struct point *points = (struct point *)(mine + 128);
    *points = (struct point){2, 3};
    sly_double(points, 1);
    CHECK(points->x == 4 && points->y == 6);
    sly_free(box);
    lg_sly_free(mine);
}

static int on_named(const char *bytes, const char *name, void *user)
{
    (void)user;
    CHECK(strcmp(name, "name") == 0 && memcmp(bytes, "byte", 4) == 0);
    return 3;
}

static void sizes(void)
{
    const struct view *view = sly_view();
    CHECK(view && *view->n == 3 && memcmp(view->bytes, "abc", 3) == 0 && strcmp(view->name, "four") == 0);
    FAILS(1, sly_view() == NULL, LG_STUB_POINTER, "n");
    FAILS(3, sly_view() == NULL, LG_STUB_POINTER, "name");
    sly_mode(2);
    CHECK((view = sly_view()) && !view->n);
    sly_mode(4);
    CHECK((view = sly_view()) && !view->name);
    sly_mode(0);
    int pieces = 0;
    FAILS(1, sly_each(on_piece, &pieces, 1) == -1, LG_STUB_NULL, "n");
    FAILS(2, sly_each(on_piece, &pieces, 1) == -1, LG_STUB_POINTER, "n");
    CHECK(pieces == 0);
    CHECK(sly_names(on_named, 0) == 3);
    FAILS(1, sly_names(on_named, 0) == -1, LG_STUB_POINTER, "name");
    FAILS(2, sly_names(on_named, 0) == -1, LG_STUB_NULL, "name");
}

static void *seen;

static void on_event(void *user, int n)
{
    (void)n;
    seen = user;
}

static int nested_fails;

/* Calls within a callback are those of other handles; what comes after them is the outer one's again. */
static struct box *nested;
static void on_nested(void *user, int n)
{
    (void)n;
    seen = user;
    if (nested)
        nested_fails = sly_user_of(nested) == NULL;
}

static void identities(void)
{
    int one = 1, two = 2;
    struct box *a = sly_box(), *b = sly_box();
    CHECK(a && b && a != b);
    sly_handler(a, on_event);
    sly_handler(b, on_event);
    sly_user(a, &one);
    sly_user(b, &two);
    CHECK(sly_run(a, 1) == 0 && seen == &one);
    CHECK(sly_run(b, 1) == 0 && seen == &two);
    CHECK(sly_user_of(a) == &one && sly_user_of(b) == &two);
    seen = 0;
    FAILS(1, sly_run(b, 1) == -1, LG_STUB_DATA, "user");
    FAILS(2, sly_run(b, 1) == -1, LG_STUB_DATA, "user");
    FAILS(2, sly_user_of(b) == NULL, LG_STUB_DATA, "result");
    FAILS(4, sly_run(b, 1) == -1, LG_STUB_DATA, "user");
    CHECK(seen == 0);
    /* A handle that another has made has what that has. */
    struct box *part = sly_part(b);
    CHECK(sly_run(part, 1) == 0 && seen == &two);
    sly_free(part);
    nested = a;
    sly_handler(b, on_nested);
    CHECK(sly_run(b, 1) == 0 && seen == &two && !nested_fails);
    /* The same handle for two. */
    FAILS(5, sly_box() == NULL, LG_STUB_HANDLE, "result");
    CHECK(sly_run(b, 1) == 0 && seen == &two);
    /* Handlers get the handle when the program says so, and nothing else then. */
    sly_itself(a);
    CHECK(sly_run(a, 1) == 0 && seen == a);
    sly_user(a, &one);
    FAILS(0, sly_run(a, 1) == -1, LG_STUB_DATA, "user");
    /* What was given for a handle ends with it. */
    seen = 0;
    sly_free(a);
    FAILS(3, sly_run(b, 1) == -1, LG_STUB_DATA, "user");
    CHECK(seen == 0);
    sly_free(b);
}

/* What was given for a handle ends with the call that ends the handle, whatever the library makes of that. */
static void releases(void)
{
    int one = 1, two = 2;
    struct box *a = sly_box(), *b = sly_box(), *c = sly_box();
    sly_on(a, on_event, &one);
    sly_on(b, on_event, &two);
    sly_on(c, on_event, &one);
    CHECK(sly_run(b, 1) == 0 && seen == &two);
    sly_mode(7);
    sly_free(a);
    CHECK(lg_sly_error()->kind == LG_STUB_FAULT);
    seen = 0;
    FAILS(3, sly_run(b, 1) == -1, LG_STUB_DATA, "user");
    FAILS(0, sly_run(a, 1) == -1, LG_STUB_HANDLE, "box");
    sly_mode(8);
    CHECK(sly_close(c) == 1);
    FAILS(3, sly_run(b, 1) == -1, LG_STUB_DATA, "user");
    CHECK(seen == 0 && sly_close(c) == 0);
    FAILS(0, sly_close(c) == -1, LG_STUB_HANDLE, "box");
    CHECK(sly_run(b, 1) == 0 && seen == &two);
    sly_free(b);
}

static void streams(void)
{
    struct box *a = sly_box(), *b = sly_box();
    int number = 5;
    sly_user(b, &number);
    FILE *file = tmpfile();
    CHECK(file && fputs("stream", file) >= 0 && fseek(file, 0, SEEK_SET) == 0);
    CHECK(sly_load(b, file) == 's');
    FAILS(1, sly_load(b, file) == -1, LG_STUB_DATA, "stream");
    FAILS(3, sly_load(b, file) == -1, LG_STUB_DATA, "stream");
    /* Only for the call, unless the library keeps it, and then for that handle. */
    FAILS(0, sly_read(b) == -1, LG_STUB_DATA, "stream");
    CHECK(sly_keep(a, file) == 't' && sly_read(a) == 'r');
    FAILS(2, sly_read(b) == -1, LG_STUB_DATA, "stream");
    /* The file stays where it is if there is no room for what is read. */
    FAILS(9, sly_load(b, file) == -1, LG_STUB_POINTER, "buffer");
    /* (The call that was refused ended in the middle of the stream that was kept.) */
    FAILS(0, sly_read(a) == -1, LG_STUB_DATA, "stream");
    CHECK(sly_keep(a, file) == 'e' && sly_read(a) == 'a');
    sly_free(a);
    fclose(file);
    FAILS(0, sly_read(b) == -1, LG_STUB_DATA, "stream");
    sly_free(b);
}

static double cost(uintptr_t first, int calls)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < calls; i++)
        CHECK(sly_call(on_event, (void *)(first + (uintptr_t)i) ) == 0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* Pointers that were given once cost nothing later, and the millionth is as good as the first. */
static void many(void)
{
    double first = cost(4096, 10000);
    struct box *box = sly_box();
    sly_handler(box, on_event);
    for (uintptr_t i = 1; i <= 100000; i++) {
        sly_user(box, (void *)(i * 16));
        CHECK(sly_run(box, 1) == 0 && seen == (void *)(i * 16));
    }
    sly_free(box);
    cost(1 << 20, 1100000);
    double last = cost(3 << 20, 10000);
    printf("10000 calls with new data: %.4f s at first, %.4f s after a million\n", first, last);
    CHECK(last < first * 20 + 0.1);
}

int main(int count, char **arguments)
{
    (void)arguments;
    nested_calls();
    if (count > 1)
        return failures != 0;
    ends();
    places();
    booleans();
    bounds();
    shared();
    sizes();
    numbers();
    identities();
    releases();
    streams();
    CHECK(sly_wide() != NULL);
    races();
    many();
    printf("%d failures\n", failures);
    return failures != 0;
}
