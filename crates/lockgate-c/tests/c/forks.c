/* Forked children: nothing of their parent's domains, everything else. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static lg_module *module;
static lg_options *options;
static lg_options *brief; /* for calls that take all the time they may */
static lg_pool *pool;
static lg_workers *workers;
static lg_domain *parents;
static lg_function *parents_same;
static int (*parents_pointer)(int);
static void *library;
static void (*library_pointer)(int *);
static lg_async *pending;
static lg_grant *grant;
static void *given;

static void stop_late(void) {
    lg_domain *domain = new_domain(module, brief);
    void (*spin)(void) = POINTER(void (*)(void), bind(domain, "spin"));
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    spin();
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault() && lg_last_fault()->kind == LG_FAULT_TIME_OUT);
    clock_gettime(CLOCK_MONOTONIC, &now);
    CHECK(now.tv_sec - begun.tv_sec < 15);
    STATUS(LG_OK, lg_domain_free(domain));
}

/* All of it, with domains of the calling process's own. */
static void everything(void) {
    lg_domain *domain = new_domain(module, options);
    int (*same)(int) = POINTER(int (*)(int), bind(domain, "same"));
    CHECK(same(7) == 7);
    RETURNED();
    stop_late();
    void *at = lg_memory_alloc(domain, 100);
    CHECK(at);
    STATUS(LG_OK, lg_memory_free(domain, at));
    STATUS(LG_OK, lg_domain_free(domain));

    lg_domain *taken = lg_pool_take(pool);
    CHECK(taken);
    lg_function *count = bind(taken, "count");
    CHECK(POINTER(int (*)(void), count)() == 1);
    STATUS(LG_OK, lg_function_free(count));
    STATUS(LG_OK, lg_domain_free(taken));

    lg_domain *other = new_domain(module, options);
    lg_function *function = bind(other, "same");
    lg_value argument = {LG_SIGNED, {7}, {NULL, 0}}, result = {LG_SIGNED, {0}, {NULL, 0}};
    lg_async *call = lg_call_async(function, workers, 0, &argument, 1);
    CHECK(call);
    STATUS(LG_OK, lg_async_wait(call, -1, &result));
    CHECK(result.as.i == 7);
    STATUS(LG_OK, lg_async_free(call));

    void *own = lg_dlopen("./base.lg", RTLD_NOW);
    CHECK(own);
    CHECK(lg_dlsym(own, "keep"));
    CHECK(lg_dlclose(own) == 0);
}

/* What a handler of the program's own makes in a child, before the library's handler has run, is the child's. */
static lg_domain *early;
static int is_early = 1;

static void make_early(void) {
    early = is_early ? new_domain(module, options) : NULL;
}

static void nobody(void *unused) {
    (void)unused;
    CHECK(!"a parent's call ended in the child");
}

static void in_the_child(void) {
    if (early) {
        CHECK(POINTER(int (*)(int), bind(early, "same"))(7) == 7);
        RETURNED();
    }
    CHECK(parents_pointer(1) != 1 || lg_failed());
    FAILED(LG_E_FORKED);
    SAYS("belongs to the parent process");
    NOTHING(LG_E_FORKED, lg_bind(parents, "same", LG_DEFAULT));
    NOTHING(LG_E_FORKED, lg_memory_alloc(parents, 8));
    char byte;
    STATUS(LG_E_FORKED, lg_memory_read(parents, &byte, given, 1));
    STATUS(LG_E_FORKED, lg_domain_reset(parents));
    lg_usage usage;
    STATUS(LG_E_FORKED, lg_domain_usage(parents, &usage, sizeof usage));
    lg_value argument = {LG_SIGNED, {7}, {NULL, 0}}, result = {LG_SIGNED, {0}, {NULL, 0}};
    STATUS(LG_E_FORKED, lg_call(parents_same, &argument, 1, &result));
    NOTHING(LG_E_FORKED, lg_call_async(parents_same, workers, 0, &argument, 1));
    STATUS(LG_E_FORKED, lg_async_wait(pending, -1, &result));
    STATUS(LG_E_FORKED, lg_async_cancel(pending));
    STATUS(LG_E_FORKED, lg_async_notify(pending, nobody, NULL));
    NOTHING(LG_E_FORKED, lg_grant_rights(grant));
    NOTHING(LG_E_FORKED, lg_grant_pointer(grant, 0));
    STATUS(LG_E_FORKED, lg_grant_downgrade(grant, LG_READ));
    errno = 0;
    library_pointer(NULL);
    CHECK(errno == EPERM);
    lg_clear_error();
    CHECK(!lg_dlsym(library, "keep") && lg_last_status() == LG_E_FORKED);
    CHECK(lg_dlclose(library) != 0);
    everything();
    parents_pointer(1);
    FAILED(LG_E_FORKED);
    STATUS(LG_OK, lg_function_free(parents_same));
    STATUS(LG_OK, lg_domain_free(parents));
    everything();
}

static void forks(int plain) {
    fflush(NULL);
    pid_t child = plain ? (pid_t)syscall(SYS_fork) : fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        in_the_child();
        fflush(NULL);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "the child ended with %#x\n", (unsigned)status);
        exit(1);
    }
    CHECK(parents_pointer(1) == 1);
    RETURNED();
    errno = 0;
    library_pointer(NULL);
    CHECK(errno == 0);
}

/* A function of the program's that forks while a domain waits for it, or while a worker runs it; and what the child does then. */
enum { RETURNS, LOOKS, ENDS, EXITS, WAITS };
static int then;
static pid_t forked;
static int alive[2]; /* open in the child until it ends */

static int is_called;

static int forks_there(int x) {
    fflush(NULL);
    forked = fork();
    CHECK(forked >= 0);
    if (forked == 0) {
        close(alive[0]);
        lg_usage usage;
        STATUS(is_called ? LG_E_FORKED : LG_E_ARGUMENT, lg_domain_usage(LG_CALLER, &usage, sizeof usage));
        STATUS(is_called ? LG_E_FORKED : LG_E_ARGUMENT, lg_domain_kill(LG_CALLER));
        void *frames[64];
        if (then == LOOKS)
            CHECK(backtrace(frames, 64) > 1);
        if (then == ENDS)
            CHECK(lg_end_call("the child ends it") == LG_OK);
        if (then == EXITS)
            pthread_exit(NULL);
        while (then == WAITS)
            pause();
    }
    return x;
}

static int forks_called(int x) {
    is_called = 1;
    x = forks_there(x);
    is_called = 0;
    return x;
}

static int forks_at_work(void *unused) {
    (void)unused;
    return forks_there(0);
}

/* How the child ended; a signal asks it to, if there is one. */
static int ended(int signal) {
    close(alive[1]);
    if (signal)
        CHECK(kill(forked, signal) == 0);
    struct pollfd until = {alive[0], 0, 0};
    if (poll(&until, 1, 60000) != 1) {
        kill(forked, SIGKILL);
        fprintf(stderr, "a child does not end (it was to do %d)\n", then);
        exit(1);
    }
    close(alive[0]);
    int status = 0;
    CHECK(waitpid(forked, &status, 0) == forked);
    return status;
}

static int told[2]; /* a byte for each that was told */

static void fork_when_told(void *unused) {
    (void)unused;
    forks_there(0);
}

static void note_told(void *unused) {
    (void)unused;
    CHECK(write(told[1], "x", 1) == 1);
}

static int wait_to_be_told(void *goes_on) {
    while (sem_wait((sem_t *)goes_on) != 0)
        ;
    return 6;
}

/* Who is told of a call's end forks: the child tells nobody else, and ends. On a worker, and on the timekeeper. */
static void when_told(void) {
    is_early = 0;
    lg_options *patient = lg_options_new();
    lg_domain *domain = new_domain(module, patient);
    lg_function *same = bind(domain, "same");
    lg_workers *one = lg_workers_new(1, 4);
    sem_t goes_on;
    CHECK(one && sem_init(&goes_on, 0, 0) == 0);
    then = RETURNS;
    for (int late = 0; late < 2; late++) {
        CHECK(pipe(alive) == 0 && pipe(told) == 0);
        lg_value argument = {LG_SIGNED, {7}, {NULL, 0}}, result = {LG_SIGNED, {0}, {NULL, 0}};
        lg_async *first = lg_spawn(domain, one, 0, wait_to_be_told, &goes_on);
        lg_async *next = lg_call_async(same, one, late ? 10 : 0, &argument, 1);
        CHECK(first && next);
        STATUS(LG_OK, lg_async_notify(next, fork_when_told, NULL));
        STATUS(LG_OK, lg_async_notify(next, note_told, NULL));
        if (late)
            STATUS(LG_E_DEADLINE, lg_async_wait(next, -1, &result));
        CHECK(sem_post(&goes_on) == 0);
        STATUS(LG_OK, lg_async_wait(first, -1, &result));
        if (!late)
            STATUS(LG_OK, lg_async_wait(next, -1, &result));
        char bytes[3];
        CHECK(read(told[0], bytes, 1) == 1); /* the parent's, when it has forked */
        int status = ended(0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        close(told[1]);
        CHECK(read(told[0], bytes, 1) == 0);
        close(told[0]);
        STATUS(LG_OK, lg_async_free(first));
        STATUS(LG_OK, lg_async_free(next));
    }
    STATUS(LG_OK, lg_workers_free(one));
    STATUS(LG_OK, lg_function_free(same));
    STATUS(LG_OK, lg_domain_free(domain));
    STATUS(LG_OK, lg_options_free(patient));
    CHECK(sem_destroy(&goes_on) == 0);
    is_early = 1;
}

static void within_calls(void) {
    is_early = 0; /* whose limit needs a thread, and with that the end of the first thread is not the end of the child */
    lg_options *patient = lg_options_new();
    lg_domain *domain = new_domain(module, patient);
    lg_callback *callback = lg_callback_new(domain, "int forks_called(int)", (lg_code)forks_called, NULL);
    CHECK(callback);
    lg_function *apply = bind(domain, "int apply(int (*)(int), int)");
    int (*pointer)(void *, int) = POINTER(int (*)(void *, int), apply);
    void *function = lg_callback_pointer(callback);
    pid_t parent = getpid();
    for (then = RETURNS; then <= EXITS; then++) {
        CHECK(pipe(alive) == 0);
        int value = pointer(function, 7);
        if (getpid() != parent) {
            FAILED(LG_E_FORKED);
            SAYS("belongs to the parent process");
            everything();
            _exit(33);
        }
        CHECK(value == 8);
        RETURNED();
        int status = ended(0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (then == EXITS ? 0 : 33));
    }
    /* On a worker the child ends with the worker's function: nobody else is there. It hears signals as the program's own threads do. */
    for (int call = 0; call < 2; call++)
        for (then = RETURNS; then <= WAITS; then++) {
            if ((then == EXITS || then == ENDS) && !call)
                continue; /* pthread_exit may leave a function that a domain has called, and no other */
            is_early = call && then != EXITS; /* domains of its own, and their thread, or none */
            CHECK(pipe(alive) == 0);
            lg_value arguments[] = {{LG_POINTER, {0}, {NULL, 0}}, {LG_SIGNED, {7}, {NULL, 0}}}, result = {LG_SIGNED, {0}, {NULL, 0}};
            arguments[0].as.p = function;
            lg_async *work = call ? lg_call_async(apply, workers, 0, arguments, 2) : lg_spawn(domain, workers, 0, forks_at_work, NULL);
            CHECK(work);
            STATUS(LG_OK, lg_async_wait(work, -1, &result));
            STATUS(LG_OK, lg_async_free(work));
            int status = ended(then == WAITS ? SIGTERM : 0);
            CHECK(then == WAITS ? WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM : WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
    STATUS(LG_OK, lg_callback_free(callback));
    STATUS(LG_OK, lg_function_free(apply));
    STATUS(LG_OK, lg_domain_free(domain));
    STATUS(LG_OK, lg_options_free(patient));
    is_early = 1;
}

/* Makes and frees objects all the time, and so holds locks whenever the other thread forks. */
static volatile int over;

static void *busy(void *unused) {
    while (!over) {
        lg_options *more = lg_options_new();
        STATUS(LG_OK, lg_options_time_limit(options, 60000));
        lg_domain *domain = new_domain(module, options);
        lg_function *same = bind(domain, "same");
        CHECK(POINTER(int (*)(int), same)(7) == 7);
        STATUS(LG_OK, lg_function_free(same));
        STATUS(LG_OK, lg_domain_free(domain));
        STATUS(LG_OK, lg_options_free(more));
    }
    return unused;
}

int main(void) {
    pthread_atfork(NULL, NULL, make_early);
    module = open_module("guest.lg");
    options = lg_options_new();
    STATUS(LG_OK, lg_options_time_limit(options, 60000));
    brief = lg_options_new();
    STATUS(LG_OK, lg_options_time_limit(brief, 200));
    pool = lg_pool_new(module, options, 1);
    workers = lg_workers_new(1, 4);
    parents = new_domain(module, options);
    parents_same = bind(parents, "same");
    parents_pointer = POINTER(int (*)(int), parents_same);
    CHECK(parents_pointer(3) == 3);
    given = lg_memory_alloc(parents, 8);
    CHECK(given);
    grant = lg_grant_new(parents, lg_region_new(4096), LG_READ_WRITE);
    CHECK(grant);
    library = lg_dlopen("./base.lg", RTLD_NOW);
    CHECK(library);
    *(void **)&library_pointer = lg_dlsym(library, "keep");
    CHECK(library_pointer);
    lg_value argument = {LG_SIGNED, {7}, {NULL, 0}};
    pending = lg_call_async(parents_same, workers, 0, &argument, 1);
    CHECK(pending);
    STATUS(LG_OK, lg_async_wait(pending, -1, NULL));
    forks(0);
    forks(1);
    everything();
    forks(0);
    within_calls();
    when_told();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, busy, NULL) == 0);
    for (int i = 0; i < 10; i++)
        forks(0);
    over = 1;
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
