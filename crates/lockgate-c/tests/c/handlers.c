/* What stands in for libc's functions about signals, and what forks, is as safe in a handler as libc's own, and means the same. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* (Programs call it all the same.) */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#ifdef __cplusplus
#define C_FUNCTION extern "C"
#define LIKE_LIBC noexcept
#else
#define C_FUNCTION extern
#define LIKE_LIBC
#endif

C_FUNCTION void *__libc_malloc(size_t size);
C_FUNCTION void *__libc_calloc(size_t count, size_t size);
C_FUNCTION void *__libc_realloc(void *at, size_t size);
C_FUNCTION void __libc_free(void *at);

/* The allocator, which a handler may have interrupted: it must not be called there. */
static volatile sig_atomic_t in_handler, allocations;

static void allocates(void) { allocations += in_handler; }

C_FUNCTION void *malloc(size_t size) LIKE_LIBC {
    allocates();
    return __libc_malloc(size);
}

C_FUNCTION void *calloc(size_t count, size_t size) LIKE_LIBC {
    allocates();
    return __libc_calloc(count, size);
}

C_FUNCTION void *realloc(void *at, size_t size) LIKE_LIBC {
    allocates();
    return __libc_realloc(at, size);
}

C_FUNCTION void free(void *at) LIKE_LIBC {
    allocates();
    __libc_free(at);
}

static void nothing(int signal) { (void)signal; }
static void nothing_else(int signal) { (void)signal; }

/* An action that nobody has asked for before. */
static struct sigaction action(unsigned long number) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = number & 1 ? nothing : nothing_else;
    for (int bit = 0; bit < 12; bit++)
        if (number >> bit & 1)
            sigaddset(&action.sa_mask, SIGRTMIN + bit);
    return action;
}

static const int FAULTS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

/* All that POSIX says may be called in a handler, as far as the library has to do with it. */
static void work(int number) {
    (void)number;
    in_handler = 1;
    for (unsigned index = 0; index < 5; index++) {
        struct sigaction new_one = action(index + 1), old;
        CHECK(sigaction(FAULTS[index], &new_one, &old) == 0);
        CHECK(sigaction(FAULTS[index], NULL, &old) == 0 && old.sa_handler == new_one.sa_handler);
        CHECK(signal(FAULTS[index], SIG_IGN) == new_one.sa_handler);
        CHECK(signal(FAULTS[index], SIG_DFL) == SIG_IGN);
        CHECK(siginterrupt(FAULTS[index], 1) == 0 && siginterrupt(FAULTS[index], 0) == 0);
    }
    sigset_t all, old;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_BLOCK, &all, &old) == 0 && sigprocmask(SIG_SETMASK, &old, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct sigaction new_one = action(100);
        CHECK(sigaction(SIGBUS, &new_one, NULL) == 0);
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(allocations);
        int status;
        CHECK(grandchild > 0 && waitpid(grandchild, &status, 0) == grandchild && status == 0);
        _exit(allocations);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    in_handler = 0;
}

static void nothing_is_allocated_in_handlers(void) {
    struct sigaction old = action(0), new_one = old;
    new_one.sa_handler = work;
    CHECK(sigaction(SIGUSR1, &new_one, &old) == 0);
    CHECK(raise(SIGUSR1) == 0 && allocations == 0);
    CHECK(sigaction(SIGUSR1, &old, NULL) == 0);
}

static int (*same)(int);
static pthread_key_t at_end;
static volatile sig_atomic_t ends;

static void call(int number) {
    (void)number;
    in_handler = 1;
    same(5);
    in_handler = 0;
    CHECK(lg_failed() && lg_take_call_error() == LG_E_SIGNAL_HANDLER);
}

/* Among all that a thread does at its end, and behind it: each time once more. */
static void in_each_round(void *round) {
    CHECK(raise(SIGUSR1) == 0);
    if (++ends < 3)
        CHECK(pthread_setspecific(at_end, round) == 0);
}

static void *end(void *value) {
    CHECK(same(5) == 5 && !lg_failed() && pthread_setspecific(at_end, value) == 0);
    return NULL;
}

/* A handler that calls by a pointer is refused, also on a thread that has left all domains as it ends, where it may have interrupted the allocator. */
static void nothing_is_allocated_at_a_threads_end(void) {
    struct sigaction new_one = action(0), old;
    new_one.sa_handler = call;
    allocations = 0;
    CHECK(sigaction(SIGUSR1, &new_one, &old) == 0 && pthread_key_create(&at_end, in_each_round) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end, &at_end) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(ends == 3 && allocations == 0);
    CHECK(sigaction(SIGUSR1, &old, NULL) == 0 && pthread_key_delete(at_end) == 0);
}

static volatile sig_atomic_t taken;

static void change(int number) {
    (void)number;
    struct sigaction new_one = action((unsigned long)taken);
    CHECK(sigaction(SIGSEGV, &new_one, NULL) == 0);
    taken++;
}

/* A timer that sends the signal again and again, so many nanoseconds apart. */
static timer_t sends(int number, long apart) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = number;
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec times = {{0, apart}, {0, apart}};
    CHECK(timer_settime(timer, 0, &times, NULL) == 0);
    return timer;
}

/* A handler interrupts the very function that it calls, sooner or later at each instruction. */
static void handlers_interrupt_what_they_call(void) {
    struct sigaction new_one = action(0), old;
    new_one.sa_handler = change;
    CHECK(sigaction(SIGUSR1, &new_one, &old) == 0);
    timer_t timer = sends(SIGUSR1, 50000);
    for (unsigned long number = 0; taken < 2000; number++) {
        struct sigaction one = action(number);
        CHECK(sigaction(SIGSEGV, &one, NULL) == 0);
    }
    CHECK(timer_delete(timer) == 0 && sigaction(SIGUSR1, &old, NULL) == 0);
    CHECK(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
}

static int flags_of(int number) {
    struct sigaction action;
    CHECK(sigaction(number, NULL, &action) == 0);
    return action.sa_flags & SA_RESTART;
}

/* `siginterrupt` counts for what `signal` installs before it and after it: a read with an alarm as its timeout ends. */
static void system_calls_end_where_that_was_asked_for(void) {
    for (unsigned index = 0; index < 2; index++) {
        int number = index ? SIGFPE : SIGALRM;
        CHECK(signal(number, nothing) != SIG_ERR && flags_of(number));
        CHECK(siginterrupt(number, 1) == 0 && !flags_of(number));
        CHECK(signal(number, nothing_else) == nothing && !flags_of(number));
        CHECK(siginterrupt(number, 0) == 0 && flags_of(number));
        CHECK(signal(number, nothing) == nothing_else && flags_of(number));
        CHECK(siginterrupt(number, 1) == 0);
    }
    CHECK(siginterrupt(0, 1) == -1 && errno == EINVAL && siginterrupt(65, 1) == -1 && errno == EINVAL);
    CHECK(signal(SIGALRM, nothing_else) == nothing);
    int ends[2];
    char byte;
    CHECK(pipe(ends) == 0);
    timer_t timer = sends(SIGALRM, 1000000);
    CHECK(read(ends[0], &byte, 1) == -1 && errno == EINTR);
    CHECK(timer_delete(timer) == 0);
    close(ends[0]);
    close(ends[1]);
}

/* What goes wrong is the result of a function of pthread's, and errno stays. */
static void errno_stays(void) {
    sigset_t none;
    sigemptyset(&none);
    errno = 7;
    CHECK(pthread_sigmask(77, &none, NULL) == EINVAL && errno == 7);
    CHECK(sigprocmask(77, &none, NULL) == -1 && errno == EINVAL);
}

int main(void) {
    lg_module *module = open_module("guest.lg");
    lg_domain *domain = new_domain(module, NULL);
    lg_function *function = bind(domain, "int same(int)");
    same = POINTER(int (*)(int), function);
    CHECK(same(5) == 5 && !lg_failed());
    nothing_is_allocated_in_handlers();
    nothing_is_allocated_at_a_threads_end();
    handlers_interrupt_what_they_call();
    system_calls_end_where_that_was_asked_for();
    errno_stays();
    CHECK(same(6) == 6 && !lg_failed());
    lg_function_free(function);
    lg_domain_free(domain);
    lg_module_free(module);
    return 0;
}
