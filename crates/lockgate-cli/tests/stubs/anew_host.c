/* A program whose library crashes while other threads are in it, in callbacks, or have left these. */
#define _GNU_SOURCE
#include <anew.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAST_ERROR lg_anew_error
#include "check.h"

static int crash(void)
{
    FAILS(anew_crash(1), LG_STUB_FAULT, "call");
    return 0;
}

static int on_event(void *user, int n) { return *(int *)user + n; }

/* A handle of the domain before is none of this one, however its address looks. */
static void handles(void)
{
    int *user = malloc(sizeof *user);
    *user = 5;
    struct thing *old = anew_new(111);
    anew_on(old, on_event, user);
    CHECK(anew_value(old) == 111 && anew_run(old, 2) == 7);
    crash();
    struct thing *new = anew_new(222);
    FAILS(anew_value(old), LG_STUB_HANDLE, "thing");
    CHECK(anew_value(new) == 222 && new != old);
    anew_free(old);
    free(user);
    CHECK(anew_value(new) == 222);
    int other = 9;
    FAILS(anew_guess(on_event, &other), LG_STUB_DATA, "user");
    anew_free(new);
    for (int i = 0; i < 20; i++) {
        crash();
        CHECK((new = anew_new(i)) && anew_value(new) == i);
        FAILS(anew_value(old), LG_STUB_HANDLE, "thing");
    }
}

/* A callback waits for a thread whose call crashes, and whose next one begins a new domain. */
static struct thing *of_thread;
static void *crashing(void *unused)
{
    (void)unused;
    crash();
    of_thread = anew_new(33);
    CHECK(anew_value(of_thread) == 33);
    return 0;
}

static int on_join(void *user, int n)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, crashing, 0) == 0);
    pthread_join(thread, 0);
    /* The domain is no more from which this was called. */
    int numbers[] = {1, 2};
    FAILS(anew_sum(numbers, 2), LG_STUB_FAULT, "call");
    *(int *)user = 1;
    return n;
}

static void waits(void)
{
    int user = 0, numbers[] = {1, 2};
    FAILS(anew_each(1, on_join, &user), LG_STUB_FAULT, "call");
    CHECK(user == 1);
    /* The new one has not been touched by that. */
    CHECK(anew_value(of_thread) == 33 && anew_sum(numbers, 2) == 3);
    anew_free(of_thread);
}

/* Threads that leave callbacks for good keep nobody waiting. */
static jmp_buf out;
static pthread_barrier_t meet;

static int on_exit_(void *user, int n)
{
    (void)user, (void)n;
    pthread_exit(0);
}

static int on_jump(void *user, int n)
{
    (void)user, (void)n;
    longjmp(out, 1);
}

static void *exiting(void *user)
{
    anew_each(1, on_exit_, user);
    return 0;
}

static void *jumping(void *user)
{
    if (!setjmp(out))
        anew_each(1, on_jump, user);
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    /* And its own next call is as good as the first. */
    int numbers[] = {4, 5};
    CHECK(anew_sum(numbers, 2) == 9);
    return 0;
}

static void leaves(void)
{
    int user, numbers[] = {1, 2};
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, exiting, &user) == 0);
    pthread_join(thread, 0);
    crash();
    CHECK(anew_sum(numbers, 2) == 3);
    pthread_barrier_init(&meet, 0, 2);
    CHECK(pthread_create(&thread, 0, jumping, &user) == 0);
    pthread_barrier_wait(&meet);
    crash();
    CHECK(anew_sum(numbers, 2) == 3);
    pthread_barrier_wait(&meet);
    pthread_join(thread, 0);
}

/* Nor does one whose call would go on for long: the domain is ended. */
static int entered;
static int on_enter(void *user, int n)
{
    (void)user;
    __atomic_store_n(&entered, 1, __ATOMIC_RELEASE);
    return n;
}

static void *spinning(void *user)
{
    CHECK(anew_each(1, on_enter, user) == 0);
    FAILS(anew_spin(), LG_STUB_FAULT, "call");
    return 0;
}

static void ends(void)
{
    int user, numbers[] = {1, 2};
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, spinning, &user) == 0);
    while (!__atomic_load_n(&entered, __ATOMIC_ACQUIRE))
        ;
    crash();
    CHECK(anew_sum(numbers, 2) == 3);
    pthread_join(thread, 0);
    CHECK(anew_sum(numbers, 2) == 3);
}

/* A child begins a domain of its own, whatever made it, in a callback, too; the parent's goes on. */
static int on_fork(void *user, int n)
{
    int numbers[] = {1, 2}, status = 1;
    pid_t child = *(int *)user ? fork() : _Fork();
    if (child == 0) {
        FAILS(anew_sum(numbers, 2), LG_STUB_FAULT, "call");
        return 0;
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    return n + 1;
}

static void children(void)
{
    int numbers[] = {1, 2, 3}, status = 1;
    struct thing *thing = anew_new(5);
    pid_t child = _Fork();
    if (child == 0) {
        FAILS(anew_value(thing), LG_STUB_HANDLE, "thing");
        struct thing *own = anew_new(6);
        CHECK(anew_sum(numbers, 3) == 6 && anew_value(own) == 6);
        _exit(failures != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    pid_t self = getpid();
    for (int how = 0; how < 2; how++) {
        int result = anew_each(1, on_fork, &how);
        if (getpid() != self) {
            CHECK(result == -7 && anew_sum(numbers, 3) == 6);
            _exit(failures != 0);
        }
        CHECK(result == 1);
    }
    CHECK(anew_value(thing) == 5);
    anew_free(thing);
}

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }

int main(void)
{
    handles();
    waits();
    leaves();
    ends();
    children();
    printf("%d failures\n", failures);
    return failures != 0;
}
