/* A program that uses the library as it would any other: it keeps what it was given, and goes by what it was told. */
#define _GNU_SOURCE
#include <fresh.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define LAST_ERROR lg_fresh_error
#define SET_MODE fresh_mode
#include "check.h"

static void no_error(struct fresh *f, const char *text)
{
    (void)f, (void)text;
}

/* An array of handles is there as long as others are. */
static void handles(void)
{
    struct fresh *f = fresh_new(no_error, 0), **out = 0;
    int n = 0, more = 0;
    fresh_mode(0);
    struct fresh **children = fresh_children(f, &n);
    CHECK(n == 5 && fresh_children_out(f, &out, &more) == 0 && more == 3);
    for (int i = 0; i < 5; i++) {
        CHECK(fresh_id(children[i]) == 8 + i);
        free(fresh_text(f));
    }
    /* A longer answer from the same place. */
    struct fresh **all = fresh_children(f, &more);
    char *own = malloc((size_t)more * sizeof *all);
    memset(own, 'A', (size_t)more * sizeof *all);
    CHECK(more == 4000 && fresh_id(children[4]) == 12 && fresh_id(out[2]) == 10 && fresh_id(all[3999]) == 4007);
    free(own);
}

/* Nor does an answer end in the middle of an earlier one, or have gaps where that has none. */
static void shorter(void)
{
    struct fresh *f = fresh_new(no_error, 0), *g = fresh_new(no_error, 0);
    int n = 0, m = 0, gaps = 0;
    fresh_mode(0);
    const char **five = fresh_names(f, &n), **one = fresh_names(g, &m);
    CHECK(n == 5 && m == 1 && strcmp(one[0], "a") == 0);
    CHECK(fresh_gaps(g, &gaps) && gaps == 5);
    for (int i = 0; i < n; i++)
        CHECK(five[i] && strlen(five[i]) == 1);
}

/* ---- other stacks: what they have interrupted goes on ---- */

#define SIZE 100000
static unsigned char big[SIZE];
static char stack[1 << 20] __attribute__((aligned(4096)));
static ucontext_t outer, inner;
static char *taken;
static int refused;

static void on_signal(int number)
{
    (void)number;
    refused += fresh_sum(big, sizeof big) == 7;
}

/* What the program gets meanwhile is not what the callback fills. */
static void meanwhile(char *room, size_t n)
{
    char *more = malloc(n);
    memset(more, 3, n);
    memset(room, 1, n);
    for (size_t i = 0; i < n; i++)
        CHECK(more[i] == 3);
    free(more);
}

static void fill_and_raise(void *user, char *room, size_t n)
{
    (void)user;
    memset(room, 1, n);
    raise(SIGUSR1);
    meanwhile(room, n);
}

static void *below_the_handlers(void *unused)
{
    CHECK(fresh_fill(fill_and_raise, &refused, SIZE) == SIZE);
    return unused;
}

static void fill_and_switch(void *user, char *room, size_t n)
{
    (void)user;
    memset(room, 1, n);
    swapcontext(&inner, &outer);
    meanwhile(room, n);
    memset(room, 2, n);
}

static void coroutine(void)
{
    CHECK(fresh_fill(fill_and_switch, &refused, SIZE) == 2 * SIZE);
}

static jmp_buf back;

static void fill_and_jump(void *user, char *room, size_t n)
{
    (void)user, (void)room, (void)n;
    longjmp(back, 1);
}

static void stacks(void)
{
    memset(big, 1, sizeof big);
    CHECK(fresh_sum(big, 10) == 10);
    /* A handler's stack above the thread's. */
    char *alternate = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK((uintptr_t)alternate > (uintptr_t)stack);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, sizeof stack);
    pthread_create(&thread, &attributes, below_the_handlers, 0);
    pthread_join(thread, 0);
    CHECK(refused == 1);
    /* A coroutine that waits in its callback. */
    getcontext(&inner);
    inner.uc_stack.ss_sp = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    inner.uc_stack.ss_size = 1 << 20;
    inner.uc_link = &outer;
    mprotect(inner.uc_stack.ss_sp, 4096, PROT_NONE);
    makecontext(&inner, coroutine, 0);
    swapcontext(&outer, &inner);
    CHECK(fresh_sum(big, sizeof big) == 7);
    taken = malloc(SIZE);
    memset(taken, 5, SIZE);
    swapcontext(&outer, &inner);
    for (size_t i = 0; i < SIZE; i++)
        CHECK(taken[i] == 5);
    free(taken);
    /* What the program has left on one stack is forgotten as before. */
    for (volatile int i = 0; i < 500; i++)
        if (!setjmp(back))
            fresh_fill(fill_and_jump, &refused, SIZE);
    CHECK(fresh_sum(big, sizeof big) == SIZE);
}

/* ---- one jmp_buf for each handle ---- */

#define JMPBUF(f) (*fresh_jump(f, longjmp, sizeof(jmp_buf)))

/* As libpng's manual has it. */
static void on_error(struct fresh *f, const char *text)
{
    (void)text;
    longjmp(JMPBUF(f), 1);
}

static int __attribute__((noinline)) header(struct fresh *f)
{
    volatile char pad[600];
    memset((void *)pad, 1, sizeof pad);
    if (setjmp(JMPBUF(f))) {
        puts("jumped into a function that has returned");
        exit(3);
    }
    return pad[3];
}

static int __attribute__((noinline)) body(struct fresh *f)
{
    if (setjmp(JMPBUF(f)))
        return 100;
    return fresh_fail(f);
}

static void jumps(void)
{
    for (int mode = 0; mode < 4; mode++) {
        struct fresh *f = fresh_new(on_error, 0);
        fresh_mode(mode);
        CHECK(header(f) == 1);
        CHECK(body(f) == 100);
        jmp_buf *one = fresh_jump(f, longjmp, sizeof(jmp_buf));
        CHECK(one == fresh_jump(f, longjmp, sizeof(jmp_buf)));
        fresh_free(f);
    }
    /* What does not return comes back there, though the library has never answered where that is. */
    struct fresh *f = fresh_new(on_error, 0);
    fresh_mode(2);
    volatile int lands = setjmp(JMPBUF(f));
    if (lands == 0)
        fresh_stop(f);
    CHECK(lands == 1);
    fresh_mode(0);
}

/* ---- what was told ---- */

static void *hears(void *f)
{
    unsigned width, height;
    fresh_size(f, &width, &height);
    return 0;
}

static void facts(void)
{
    unsigned width = 0, height = 0;
    /* Two functions tell it, and differ. */
    for (int mode = 2; mode < 4; mode++) {
        struct fresh *f = fresh_new(no_error, 0);
        unsigned char row[4][8], *rows[8] = {row[0], row[1], row[2], row[3]}, *other = malloc(8);
        memset(other, 'o', 8);
        rows[4] = rows[5] = rows[6] = rows[7] = other;
        fresh_mode(mode);
        CHECK(fresh_size(f, &width, &height) == 0 && fresh_height(f) + height == 12);
        CHECK(fresh_rows(f, rows) == 0 && row[3][7] == 'r' && memcmp(other, "oooooooo", 8) == 0);
        free(other);
        fresh_free(f);
    }
    /* Each alone will do; none does not. */
    struct fresh *one = fresh_new(no_error, 0), *none = fresh_new(no_error, 0);
    unsigned char row[4][8], *rows[4] = {row[0], row[1], row[2], row[3]};
    fresh_mode(0);
    CHECK(fresh_height(one) == 4 && fresh_rows(one, rows) == 0);
    FAILS(0, fresh_rows(none, rows) == -7, LG_STUB_SIZE, "fresh_size");
    /* A call that says itself that it has failed tells nothing. */
    unsigned char *own = malloc(8);
    CHECK(fresh_size(one, &width, &height) == 0 && width == 8 && fresh_row(one, own) == 0);
    fresh_mode(1);
    CHECK(fresh_size(one, &width, &height) == -1);
    FAILS(0, fresh_row(one, own) == -7, LG_STUB_SIZE, "fresh_size");
    CHECK(fresh_size(one, &width, &height) == 0 && width == 8 && fresh_row(one, own) == 0);
    /* What another thread hears is no answer to this one. */
    struct fresh *shared = fresh_new(no_error, 0);
    CHECK(fresh_size(shared, &width, &height) == 0);
    fresh_mode(1);
    pthread_t thread;
    pthread_create(&thread, 0, hears, shared);
    pthread_join(thread, 0);
    fresh_mode(0);
    CHECK(fresh_row(shared, own) == 0);
    free(own);
    fresh_free(one), fresh_free(none), fresh_free(shared);
}

/* ---- strings in pairs ---- */

static int seen;

static void on_pairs(void *user, const char **all)
{
    (void)user;
    for (int i = 0; all[i]; i += 2)
        seen += (int)(strlen(all[i]) + strlen(all[i + 1]));
}

static void pairs(void)
{
    fresh_mode(0);
    CHECK(fresh_each(on_pairs, &seen, 4) == 0 && seen == 16);
    CHECK(fresh_each(on_pairs, &seen, 0) == 0 && seen == 16);
    for (int odd = 1; odd < 16; odd += 2)
        FAILS(0, fresh_each(on_pairs, &seen, odd) == -7, LG_STUB_LENGTH, "all");
    CHECK(seen == 16);
}

/* ---- functions and data of the program's ---- */

static void on_text(void *user)
{
    CHECK(strcmp(user, "text") == 0);
}

static void on_number(void *user)
{
    CHECK(*(int *)user == 42);
}

static int served;

static int on_serve(struct request *r)
{
    char *user = fresh_served(r);
    served += user && strcmp(user, "text") == 0;
    return 1;
}

static int on_serve_number(struct request *r)
{
    int *user = fresh_served(r);
    CHECK(!user || *user == 42);
    served += user != 0;
    return 1;
}

static void given(void)
{
    int number = 42;
    static char text[] = "text";
    struct fresh *f = fresh_new(no_error, text), *g = fresh_new(no_error, text);
    struct fresh_ops one = {on_text, text, 0}, other = {on_number, &number, 0};
    fresh_mode(0);
    CHECK(fresh_use(f, &one) == 0 && one.count == 1);
    for (int i = 0; i < 2; i++) {
        fresh_mode(1);
        CHECK(fresh_use(g, &other) == 0 && other.count == i + 1 && other.event == on_number && other.user == &number);
    }
    fresh_mode(0);
    fresh_io(f, on_number, &number);
    CHECK(fresh_io_of(f) == &number && fresh_go(f) == 0);
    FAILS(1, fresh_io_of(f) == 0, LG_STUB_DATA, "result");
    /* A handle that a callback was shown speaks of that callback. */
    fresh_mode(0);
    struct fresh *server = fresh_new(no_error, 0);
    fresh_server(server, on_serve, text);
    CHECK(fresh_go(server) == 1 && served == 1);
    fresh_server(server, on_serve_number, &number);
    CHECK(fresh_go(server) == 1 && served == 2);
    fresh_mode(1);
    fresh_server(server, on_serve_number, &number);
    CHECK(fresh_go(server) == 1 && served == 2 && lg_fresh_error()->kind == LG_STUB_DATA);
    fresh_mode(0);
}

/* ---- buffers that are moved over ---- */

static void moved(void)
{
    char in[8] = "12345678", out[8] = "old data";
    struct fresh_stream s = {in, 8, out, 8};
    fresh_mode(0);
    CHECK(fresh_move(&s) == 0 && s.in == in + 4 && s.out == out + 4 && s.in_left == 4 && s.out_left == 4);
    FAILS(1, fresh_move(&s) == -7 && s.out_left == 4, LG_STUB_LENGTH, "in");
    FAILS(2, fresh_move(&s) == -7 && s.out == out + 4, LG_STUB_LENGTH, "in");
    CHECK(memcmp(out, "mmmmdata", 8) == 0);
}

/* ---- text in structures ends there ---- */

static void texts(void)
{
    struct { struct fresh_label label; char secret[8]; } own = {.secret = "secret"};
    fresh_mode(0);
    CHECK(fresh_label(&own.label) == 0 && strlen(own.label.name) == 7 && strcmp(own.secret, "secret") == 0);
    struct fresh_outer o = fresh_outer();
    CHECK(strlen(o.in.text) == 3 && o.n == 0x6f6f6f6f);
    int n = 0;
    const struct fresh_outer *all = fresh_outers(fresh_new(no_error, 0), &n);
    CHECK(n == 2 && strlen(all[0].in.text) == 3 && strlen(all[1].in.text) == 3);
}

/* ---- a stream's function that does not return ---- */

static int leaves;

static ssize_t on_write(void *user, const char *bytes, size_t n)
{
    (void)user, (void)bytes;
    if (leaves == 1)
        longjmp(back, 1);
    if (leaves == 2)
        pthread_exit(0);
    return (ssize_t)n;
}

static FILE *cookie(void)
{
    FILE *file = fopencookie(0, "w", (cookie_io_functions_t){0, on_write, 0, 0});
    setvbuf(file, 0, _IONBF, 0);
    return file;
}

static void *puts_and_ends(void *unused)
{
    fresh_put(cookie(), "text");
    return unused;
}

static void *says_and_ends(void *f)
{
    fresh_say(f, "text");
    return f;
}

static void left(void)
{
    /* (What hangs ends.) */
    alarm(60);
    fresh_mode(0);
    CHECK(fresh_put(cookie(), "text") == 6);
    leaves = 1;
    if (!setjmp(back))
        fresh_put(cookie(), "text");
    leaves = 0;
    CHECK(fresh_put(cookie(), "text") == 6);
    leaves = 2;
    pthread_t thread;
    pthread_create(&thread, 0, puts_and_ends, 0);
    pthread_join(thread, 0);
    leaves = 0;
    FILE *file = tmpfile();
    CHECK(fresh_put(file, "text") == 6 && ftell(file) == 6);
    fclose(file);

    /* One that the library keeps: the call says so, whichever thread left it, and whichever makes it; and goes on with another one. */
    for (leaves = 1; leaves < 3; leaves++) {
        volatile int how = leaves;
        struct fresh *f = fresh_new(no_error, 0), *other = fresh_new(no_error, 0);
        CHECK(fresh_log(f, cookie()) == 0 && fresh_log(other, cookie()) == 0);
        if (how == 2) {
            pthread_create(&thread, 0, says_and_ends, f);
            pthread_join(thread, 0);
        } else if (!setjmp(back)) {
            fresh_say(f, "text");
        }
        leaves = 0;
        FAILS(0, fresh_say(f, "text") == -7, LG_STUB_DATA, "stream");
        CHECK(fresh_say(other, "text") == 6);
        CHECK(fresh_log(f, cookie()) == 0 && fresh_say(f, "text") == 6);
        leaves = how;
    }
}

int main(int count, char **arguments)
{
    static const struct { const char *name; void (*run)(void); } all[] = {
        {"handles", handles}, {"shorter", shorter}, {"stacks", stacks}, {"jumps", jumps}, {"facts", facts},
        {"pairs", pairs}, {"given", given}, {"moved", moved}, {"left", left}, {"texts", texts},
    };
    int found = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (count > 1 && strcmp(all[i].name, arguments[1]) == 0) {
            found = 1;
            all[i].run();
        }
    printf("%d failures\n", failures);
    return failures != 0 || !found;
}
