/* A program that frees what it gave when the call, or the handle, has ended for which it gave that. */
#define _GNU_SOURCE
#include <lives.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAST_ERROR lg_lives_error
#include "check.h"

/* What is freed is given to nobody. */
struct count { int calls; };

static int on_event(void *user, int n)
{
    struct count *count = user;
    return ++count->calls + n;
}

static struct count *counter(void) { return calloc(1, sizeof(struct count)); }

static void calls_without_a_handle(void)
{
    lives_mode(1);
    struct count *count = counter();
    CHECK(lives_each(3, on_event, count) == 9 && count->calls == 3);
    free(count);
    FAILS(lives_later(), LG_STUB_DATA, "user");
    struct life *life = lives_new();
    FAILS(lives_run(life, 1), LG_STUB_DATA, "user");
    lives_free(life);
    /* Nor does it get what is a handle's. */
    struct life *other = lives_new();
    struct count theirs = {0};
    lives_mode(1);
    lives_on(other, on_event, &theirs);
    CHECK(lives_run(other, 1) == 2);
    FAILS(lives_later(), LG_STUB_DATA, "user");
    lives_free(other);
    /* Only what is said to be kept is. */
    static struct count kept;
    lives_always(on_event, &kept);
    CHECK(lives_later() == 1 && lives_later() == 2 && kept.calls == 2);
}

/* What is given for a call is nobody's after it, whatever handle the call has or makes. */
static struct life *within;
static int on_inner(void *user, int n)
{
    struct count *count = user;
    FAILS(lives_run(within, n), LG_STUB_DATA, "user");
    FAILS(lives_later(), LG_STUB_DATA, "user");
    return ++count->calls + n;
}

static void calls_with_a_handle(void)
{
    struct life *life = within = lives_new(), *part = lives_part(life);
    lives_mode(1);
    struct count *count = counter();
    CHECK(lives_for(life, 3, on_event, count) == 9 && count->calls == 3);
    free(count);
    FAILS(lives_run(life, 1), LG_STUB_DATA, "user");
    FAILS(lives_run(part, 1), LG_STUB_DATA, "user");
    FAILS(lives_later(), LG_STUB_DATA, "user");
    /* Nor does a later call of the same kind, to which the same place belongs. */
    struct count mine = {0};
    lives_mode(3);
    CHECK(lives_for(life, 1, on_event, &mine) == 1);
    FAILS(lives_for(life, 1, on_event, &mine), LG_STUB_DATA, "user");
    CHECK(mine.calls == 1);
    /* Nor a call from within a callback; that has it again when it goes on. */
    lives_mode(1);
    mine.calls = 0;
    CHECK(lives_for(life, 3, on_inner, &mine) == 9 && mine.calls == 3);
    /* Without a function there is nobody to get it. */
    CHECK(lives_for(life, 1, NULL, &mine) == 0);
    lives_mode(1);
    count = counter();
    struct life *made = lives_started(on_event, count);
    CHECK(made && count->calls == 1);
    free(count);
    FAILS(lives_run(made, 1), LG_STUB_DATA, "user");
    FAILS(lives_run(life, 1), LG_STUB_DATA, "user");
    /* Places are free again: more calls than there can be places. */
    lives_mode(0);
    for (int i = 0; i < 10000; i++)
        CHECK(lives_for(life, 1, on_event, &mine) == mine.calls);
    lives_free(made);
    lives_free(part);
    lives_free(life);
}

/* What comes with a handle's making is the handle's. */
static void handles_that_are_made(void)
{
    for (int how = 0; how < 3; how++) {
        struct life *other = lives_new(), *life = 0;
        lives_mode(1);
        struct count *count = counter();
        if (how == 0)
            life = lives_with(on_event, count);
        else if (how == 1)
            lives_into(&life, on_event, count);
        else
            life = lives_ops(&(struct lives_ops){on_event, count});
        /* (Data in a structure comes with no function.) */
        if (how < 2)
            CHECK(lives_run(life, 1) == 2 && count->calls == 1);
        FAILS(lives_run(other, 1), LG_STUB_DATA, "user");
        lives_free(life);
        free(count);
        FAILS(lives_run(other, 1), LG_STUB_DATA, "user");
        /* At the same address. */
        struct life *again = lives_new();
        FAILS(lives_run(again, 1), LG_STUB_DATA, "user");
        lives_free(again);
        lives_free(other);
    }
    lives_mode(1);
    struct life *other = lives_new();
    FILE *file = tmpfile();
    struct life *log = lives_log(file);
    CHECK(lives_write(log, "one") == 0);
    FAILS(lives_write(other, "two"), LG_STUB_DATA, "stream");
    lives_free(log);
    CHECK(ftell(file) == 3);
    fclose(file);
    FAILS(lives_write(other, "two"), LG_STUB_DATA, "stream");
    /* Nor does it keep what it was given by a call that failed. */
    lives_mode(2);
    file = tmpfile();
    CHECK(lives_log(file) == NULL && lg_lives_error()->kind == LG_STUB_HANDLE);
    fclose(file);
    FAILS(lives_write(other, "two"), LG_STUB_DATA, "stream");
    lives_free(other);
}

/* An address that the library uses again is another handle. */
static void handles_that_were(void)
{
    struct life *first = lives_new();
    lives_user(first, &failures);
    CHECK(*(void **)first == &failures);
    lives_free(first);
    CHECK(*(void **)first == NULL);
    for (int i = 0; i < 100; i++) {
        struct life *next = lives_new();
        CHECK(next != first && *(void **)next == NULL);
        FAILS(lives_value(first), LG_STUB_HANDLE, "life");
        lives_user(next, &failures);
        lives_free(next);
    }
}

static pthread_barrier_t meet;

/* A stream of this thread's call is no other's. */
static void *thief(void *life)
{
    FAILS(lives_steal(life), LG_STUB_DATA, "stream");
    lives_tried();
    return 0;
}

static void streams_of_other_threads(void)
{
    struct life *mine = lives_new(), *other = lives_new();
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, thief, other) == 0);
    FILE *file = tmpfile();
    CHECK(file && fputs("x", file) >= 0 && fseek(file, 0, SEEK_SET) == 0);
    CHECK(lives_load(mine, file) == 1);
    fclose(file);
    pthread_join(thread, 0);
    lives_free(mine);
    lives_free(other);
}

/* Data of this thread's call is no other's, however long that takes. */
static int waiting;
static int on_wait(void *user, int n)
{
    (void)user;
    if (waiting++)
        return n;
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    return n + 1;
}

static void *later(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&meet);
    FAILS(lives_later(), LG_STUB_DATA, "user");
    pthread_barrier_wait(&meet);
    return 0;
}

static void data_of_other_threads(void)
{
    struct count count = {0};
    pthread_t thread;
    lives_mode(1);
    pthread_barrier_init(&meet, 0, 2);
    CHECK(pthread_create(&thread, 0, later, 0) == 0);
    CHECK(lives_each(1, on_wait, &count) == 1);
    pthread_join(thread, 0);
}

/* A release waits for a callback that has what was given for the handle. */
static int released;
static int on_slow(void *user, int n)
{
    struct count *count = user;
    pthread_barrier_wait(&meet);
    for (int i = 0; i < 20; i++) {
        nanosleep(&(struct timespec){0, 10000000}, 0);
        CHECK(!__atomic_load_n(&released, __ATOMIC_ACQUIRE));
        count->calls += n;
    }
    return 0;
}

static void *slow(void *part)
{
    CHECK(lives_run(part, 1) == 0);
    FAILS(lives_run(part, 1), LG_STUB_DATA, "user");
    return 0;
}

static void releases_wait(void)
{
    lives_mode(0);
    struct count *count = counter();
    struct life *whole = lives_new();
    lives_on(whole, on_slow, count);
    struct life *part = lives_part(whole);
    lives_mode(0);
    pthread_t thread;
    pthread_barrier_init(&meet, 0, 2);
    CHECK(pthread_create(&thread, 0, slow, part) == 0);
    pthread_barrier_wait(&meet);
    lives_free(whole);
    __atomic_store_n(&released, 1, __ATOMIC_RELEASE);
    CHECK(count->calls == 20);
    free(count);
    pthread_join(thread, 0);
    lives_free(part);
}

/* A callback may release what it has itself. */
static struct life *own;
static int on_end(void *user, int n)
{
    (void)user;
    lives_free(own);
    return n;
}

static void releases_by_callbacks(void)
{
    int user;
    own = lives_new();
    lives_on(own, on_end, &user);
    struct life *part = lives_part(own);
    CHECK(lives_run(part, 5) == 5);
    FAILS(lives_run(part, 5), LG_STUB_DATA, "user");
    lives_free(part);
}

/* A handle that stays the library's may be one that the program has. */
static void handles_that_are_borrowed(void)
{
    struct count count = {0};
    struct life *life = lives_new(), *again = 0;
    lives_mode(0);
    lives_on(life, on_event, &count);
    CHECK(lives_last(&again) == 0 && again == life);
    CHECK(lives_run(again, 1) == 2);
    lives_free(life);
}

/* What is lent goes back with a call of its handle, whoever makes it, and not with others. */
static void *others(void *life)
{
    CHECK(lives_value(life) == 1);
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    CHECK(lives_sum(own, 100) == 200);
    return 0;
}

static void buffers(void)
{
    own = lives_new();
    struct life *other = lives_new();
    char *buffer = lives_buffer(own, 100), *second = lives_buffer(other, 100);
    pthread_t thread;
    memset(buffer, 1, 50);
    memset(second, 1, 100);
    CHECK(pthread_create(&thread, 0, others, other) == 0);
    pthread_barrier_wait(&meet);
    memset(buffer + 50, 1, 50);
    CHECK(lives_sum(other, 100) == 100);
    CHECK(lives_sum(own, 100) == 100);
    memset(lives_buffer(own, 100), 2, 100);
    /* Not with a call that does not take place. */
    struct life *gone = lives_new();
    lives_free(gone);
    FAILS(lives_both(own, gone), LG_STUB_HANDLE, "other");
    pthread_barrier_wait(&meet);
    pthread_join(thread, 0);
    lives_free(own);
    lives_free(other);
}

/* Nor does the program give back what is lent; a binding says before the call what it is filled with; and more than the library may have it cannot lend. */
static void *filling(void *life)
{
    static char contents[4096];
    for (int i = 0; i < 2000; i++) {
        lg_lives_fill(contents, sizeof contents);
        CHECK(lives_buffer(life, 16 + i % 100 * 40));
        lg_lives_fill(NULL, 0);
    }
    return 0;
}

static void buffers_that_are_not_the_programs(void)
{
    lives_mode(0);
    struct life *life = lives_new();
    lg_lives_fill("abcd", 4);
    char *buffer = lives_buffer(life, 3);
    lg_lives_fill(NULL, 0);
    CHECK(memcmp(buffer, "abc", 3) == 0 && lives_sum(life, 3) == 'a' + 'b' + 'c');
    lives_drop(buffer);
    buffer = lives_buffer(life, 3);
    memset(buffer, 1, 3);
    CHECK(lives_sum(life, 3) == 3);
    lives_mode(7);
    CHECK(lives_buffer(life, 1 << 30) == NULL);
    CHECK_ERROR(LG_STUB_MEMORY, "result");
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, filling, life) == 0);
    filling(life);
    pthread_join(thread, 0);
    lives_mode(0);
    lives_free(life);
}

/* No answer ends a life that the program holds, and none is given to two. */
static void *same(void *made)
{
    enum { ROOM = 8 << 20 };
    struct life **life = made;
    char *room = malloc(ROOM);
    if (lives_same(life, room, ROOM) != 0)
        *life = NULL;
    free(room);
    return 0;
}

static void handles_of_others(void)
{
    struct count count = {0};
    lives_mode(0);
    struct life *life = lives_new(), *both[2] = {0};
    lives_on(life, on_event, &count);
    lives_mode(4);
    CHECK(lives_other(life) == NULL);
    CHECK_ERROR(LG_STUB_HANDLE, "result");
    lives_mode(0);
    CHECK(lives_run(life, 1) == 2 && lives_other(life) != NULL);
    lives_free(life);
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        lives_mode(5);
        CHECK(pthread_create(&thread, 0, same, &both[0]) == 0);
        same(&both[1]);
        pthread_join(thread, 0);
        CHECK(!both[0] != !both[1]);
        lives_mode(0);
        lives_free(both[0] ? both[0] : both[1]);
    }
}

/* Null is data like any other: given to a function, for a handle or a call. */
static int on_null(void *user, int n) { return user ? -1 : n + 100; }

static void null_is_given_too(void)
{
    struct count count = {0};
    lives_mode(0);
    struct life *life = lives_new(), *other = lives_new();
    lives_on(life, on_event, &count);
    lives_on(other, on_null, NULL);
    struct life *part = lives_part(other);
    CHECK(lives_run(other, 1) == 101 && lives_run(part, 2) == 102);
    CHECK(lives_for(life, 2, on_null, NULL) == 201 && lives_each(1, on_null, NULL) == 100);
    lives_mode(6);
    FAILS(lives_run(life, 1), LG_STUB_DATA, "user");
    lives_mode(1);
    lives_on(other, on_null, NULL);
    FAILS(lives_run(life, 1), LG_STUB_DATA, "user");
    lives_free(part);
    lives_free(other);
    FAILS(lives_run(life, 1), LG_STUB_DATA, "user");
    lives_free(life);
    /* That which comes alone, too. */
    lives_mode(0);
    life = lives_ops(&(struct lives_ops){on_event, &count});
    CHECK(lives_run(life, 1) == 2);
    lives_mode(6);
    FAILS(lives_run(life, 1), LG_STUB_DATA, "user");
    lives_free(life);
    lives_mode(0);
    life = lives_ops(&(struct lives_ops){on_null, NULL});
    CHECK(lives_run(life, 1) == 101);
    lives_free(life);
}

/* A call that the program has left by longjmp is none any more, however deep the next is made; what it was given is nobody's. */
static jmp_buf out;
static int on_jump(void *user, int n)
{
    struct count *count = user;
    count->calls++;
    (void)n;
    longjmp(out, 1);
}

static __attribute__((noinline)) void further_down(int levels)
{
    volatile char room[4096];
    memset((void *)room, 1, sizeof room);
    if (levels) {
        further_down(levels - 1);
    } else {
        FAILS(lives_later(), LG_STUB_DATA, "user");
        FAILS(lives_later_said("text"), LG_STUB_DATA, "user");
        FAILS(lives_write_later("text"), LG_STUB_DATA, "stream");
        struct count mine = {0};
        CHECK(lives_each(3, on_event, &mine) == 9 && mine.calls == 3);
    }
    CHECK(room[7] == 1);
}

static void calls_that_were_left(void)
{
    for (volatile int i = 0; i < 100; i++) {
        lives_mode(1);
        struct count *volatile count = counter();
        FILE *volatile file = tmpfile();
        if (setjmp(out) == 0)
            lives_with_file(file, on_jump, count);
        CHECK(count->calls == 1);
        free(count);
        fclose(file);
        further_down(5);
    }
}

/* Nor is what a call was given for those that its callbacks make meanwhile; when they have ended it is given again, whether they returned or were left. */
static int on_outer(void *user, int n)
{
    struct count *count = user, mine = {0};
    volatile int event = n;
    FAILS(lives_later(), LG_STUB_DATA, "user");
    FAILS(lives_later_said("text"), LG_STUB_DATA, "user");
    struct count *volatile inner = &mine;
    if (setjmp(out) == 0)
        lives_each(1, on_jump, inner);
    CHECK(inner->calls == 1);
    return ++count->calls + event;
}

static void calls_within_callbacks(void)
{
    lives_mode(1);
    struct count count = {0};
    CHECK(lives_each(3, on_outer, &count) == 9 && count.calls == 3);
    FILE *file = tmpfile();
    lives_mode(1);
    CHECK(lives_with_file(file, on_outer, &count) >= 4 && ftell(file) == 11);
    fclose(file);
}

/* A thread that ends within a callback ends its calls: what it gave is nobody's. */
static int on_exit_(void *user, int n)
{
    (void)user, (void)n;
    pthread_exit(0);
}

static void *leaving(void *unused)
{
    struct count count = {0};
    (void)unused;
    lives_mode(1);
    lives_each(1, on_exit_, &count);
    return 0;
}

static void threads_that_end(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, leaving, 0) == 0);
    pthread_join(thread, 0);
    FAILS(lives_later(), LG_STUB_DATA, "user");
}

/* A child is noticed whatever made it, before anything is put where the parent has it, too. */
static void children(void)
{
    int numbers[] = {1, 2, 3}, status = 0;
    CHECK(lives_numbers(numbers, 3) == 6);
    pid_t child = _Fork();
    if (child == 0) {
        int refused = lives_numbers(numbers, 3) == -7 && lg_lives_error()->kind == LG_STUB_START;
        struct life *none = lives_new();
        _exit(refused && !none && lg_lives_alloc(64) == NULL ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(lives_numbers(numbers, 3) == 6);
}

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }

int main(void)
{
    calls_without_a_handle();
    calls_with_a_handle();
    handles_that_are_made();
    handles_that_were();
    streams_of_other_threads();
    data_of_other_threads();
    releases_wait();
    releases_by_callbacks();
    handles_that_are_borrowed();
    buffers();
    buffers_that_are_not_the_programs();
    handles_of_others();
    null_is_given_too();
    calls_that_were_left();
    calls_within_callbacks();
    threads_that_end();
    children();
    printf("%d failures\n", failures);
    return failures != 0;
}
