/* What C programs do besides: signal handlers, longjmp, pthread_exit, fork. */
#include "check.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static lg_domain *domain;
static int (*same)(int);
static int (*apply)(void *, int);
static void (*crash)(int *);

static volatile sig_atomic_t handled;

/* Of the library, only lg_failed() may be asked in a handler. */
static void on_signal(int number) {
    same(1);
    handled = lg_failed() ? number : -number;
}

#ifndef __SANITIZE_THREAD__ /* which does not tell a handler that the program raises from others */
/* The same; it asks why, which only one that was raised by the program may do. */
static void on_raised(int number) {
    same(1);
    STATUS(LG_E_SIGNAL_HANDLER, lg_take_call_error());
    handled = number;
}
#endif

/* A handler has failed, and nobody has asked it: that is not what the program's own call has come to. */
static void not_mine(void) {
    CHECK(lg_failed());
    STATUS(LG_OK, lg_take_call_error());
    CHECK(!lg_failed());
}

static int raise_it(int x) {
    raise(SIGUSR1);
    not_mine();
    return x;
}

static struct sigaction action_of(void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    return action;
}

static void signals(void) {
    struct sigaction action = action_of(on_signal);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    raise(SIGUSR1);
    CHECK(handled == SIGUSR1);
    not_mine();
    crash(NULL);
    raise(SIGUSR1);
    FAILED(LG_E_FAULT);
    handled = 0;
    lg_callback *callback = lg_callback_new(domain, "int raise_it(int)", (lg_code)raise_it, NULL);
    CHECK(apply(lg_callback_pointer(callback), 4) == 5);
    RETURNED();
    CHECK(handled == SIGUSR1);
#ifndef __SANITIZE_THREAD__
    action.sa_handler = on_raised;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    crash(NULL);
    handled = 0;
    raise(SIGUSR1);
    CHECK(handled == SIGUSR1);
    FAILED(LG_E_FAULT);
#endif
    signal(SIGUSR1, SIG_IGN);
}

static sigjmp_buf own_fault;
static void on_fault(int number) {
    siglongjmp(own_fault, number);
}

/* The program's own handler sees the program's own faults, and none of the domain's. */
static void own_handler(void) {
    pid_t child = fork();
    if (child == 0) {
        /* Installed before the library's. */
        execl("/proc/self/exe", "hosts", "own-handler", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* No signal can be queued: another process of the user may have filled the queue. */
static void no_queue(void) {
    for (int i = 0; i < 12; i++) { /* whether a thread waits for a signal is a matter of luck */
        pid_t child = fork();
        if (child == 0) {
            struct rlimit none = {0, 0};
            CHECK(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
            alarm(60);
            execl("/proc/self/exe", "hosts", "no-queue", (char *)NULL);
            _exit(127);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static int with_no_queue(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_time_limit(options, 60000));
    domain = new_domain(open_module("guest.lg"), options);
    CHECK(POINTER(int (*)(int), bind(domain, "same"))(7) == 7);
    return 0;
}

/* A fault of the program's own, in a function that a domain calls; its handler leaves by a jump that brings no mask back. */
static jmp_buf own_place;
static void on_own_fault(int number) { longjmp(own_place, number); }
static int faults(int x) {
    if (setjmp(own_place) == 0)
        *(volatile int *)(uintptr_t)64 = 1;
    return x;
}

static int with_own_handler(void) {
    struct sigaction action = action_of(on_fault);
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    domain = new_domain(open_module("guest.lg"), NULL);
    crash = POINTER(void (*)(int *), bind(domain, "crash"));
    crash(NULL);
    FAILED(LG_E_FAULT);
    /* One that is installed past the library goes behind it again. */
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    STATUS(LG_OK, lg_claim_signals());
    crash(NULL);
    FAILED(LG_E_FAULT);
    volatile int rounds = 0;
    if (sigsetjmp(own_fault, 1) == 0) {
        rounds = rounds + 1;
        *(volatile int *)(uintptr_t)64 = 1;
        CHECK(!"a write to address 64 went on");
    }
    CHECK(rounds == 1);
    crash(NULL);
    FAILED(LG_E_FAULT);
    /* The domain goes on with no signal blocked that the library lives by. */
    struct sigaction jumps = action_of(on_own_fault);
    CHECK(sigaction(SIGSEGV, &jumps, NULL) == 0);
    lg_callback *callback = lg_callback_new(domain, "int faults(int)", (lg_code)faults, NULL);
    int (*apply_and_crash)(void *, int) =
        POINTER(int (*)(void *, int), bind(domain, "int apply_and_crash(int (*)(int), int)"));
    apply_and_crash(lg_callback_pointer(callback), 8);
    FAILED(LG_E_FAULT);
    lg_callback_free(callback);
    return 0;
}

static jmp_buf back;
static int jump(int x) {
    if (x)
        longjmp(back, x);
    return x;
}

#ifndef __SANITIZE_THREAD__ /* which calls handlers when it likes */
/* What the mask of a handler of the program's says, holds while it runs, whoever calls it; and is over when it returns. */
static volatile sig_atomic_t inside, at_once, later;
static void on_other(int number) {
    (void)number;
    if (inside)
        at_once++;
    else
        later++;
}

static void on_chained(int number) {
    inside = 1;
    raise(SIGUSR2);
    inside = 0;
    handled = number;
}

static void masks(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    struct sigaction action, other, before;
    memset(&action, 0, sizeof action);
    memset(&other, 0, sizeof other);
    other.sa_handler = on_other;
    CHECK(sigaction(SIGUSR2, &other, NULL) == 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int masked = 0; masked < 2; masked++) {
            at_once = later = handled = 0;
            action.sa_handler = on_chained;
            sigemptyset(&action.sa_mask);
            if (masked)
                sigfillset(&action.sa_mask);
            CHECK(sigaction(numbers[i], &action, &before) == 0);
            CHECK(raise(numbers[i]) == 0 && handled == numbers[i]);
            CHECK(at_once == !masked && later == masked);
            CHECK(sigaction(numbers[i], &before, NULL) == 0);
            crash(NULL);
            FAILED(LG_E_FAULT);
        }
    signal(SIGUSR2, SIG_DFL);
}

/* What a handler's flags say holds, too: with SA_NODEFER its own fault comes to itself, with SA_RESETHAND it is there once. */
static volatile sig_atomic_t depth;
static void on_nested(int number) {
    if (++depth < 3)
        *(volatile int *)(uintptr_t)64 = 1;
    siglongjmp(own_fault, number);
}

static void flags(void) {
    struct sigaction action, before, now;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_nested;
    action.sa_flags = SA_NODEFER;
    CHECK(sigaction(SIGSEGV, &action, &before) == 0);
    for (volatile int i = 0; i < 2; i++) {
        depth = 0;
        if (sigsetjmp(own_fault, 1) == 0)
            *(volatile int *)(uintptr_t)64 = 1;
        CHECK(depth == 3);
        crash(NULL);
        FAILED(LG_E_FAULT);
    }
    depth = 2;
    action.sa_flags = SA_RESETHAND;
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    if (sigsetjmp(own_fault, 1) == 0)
        *(volatile int *)(uintptr_t)64 = 1;
    CHECK(depth == 3 && sigaction(SIGSEGV, &before, &now) == 0 && now.sa_handler == SIG_DFL);
    crash(NULL);
    FAILED(LG_E_FAULT);
}
#endif

static void jumps(void) {
    lg_callback *callback = lg_callback_new(domain, "int jump(int)", (lg_code)jump, &domain);
    for (volatile int i = 1; i < 100; i++) {
        int arrived = setjmp(back);
        if (arrived == 0) {
            apply(lg_callback_pointer(callback), i);
            CHECK(!"longjmp came back");
        }
        CHECK(arrived == i);
        CHECK(!lg_user_data()); /* no function that a domain called runs any more */
        CHECK(same(i) == i);
        RETURNED();
    }
    lg_usage usage;
    STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
    CHECK(usage.calls == 0);
}

static int leave_thread(int x) {
    pthread_exit(lg_user_data());
    return x;
}

static void *thread(void *callback) {
    apply(callback, 1);
    CHECK(!"pthread_exit returned");
    return NULL;
}

static void exits(void) {
    static int mark;
    lg_callback *callback = lg_callback_new(domain, "int leave_thread(int)", (lg_code)leave_thread, &mark);
    for (int i = 0; i < 100; i++) { /* more than there are places */
        pthread_t id;
        void *result = NULL;
        CHECK(pthread_create(&id, NULL, thread, lg_callback_pointer(callback)) == 0);
        CHECK(pthread_join(id, &result) == 0 && result == &mark);
    }
    CHECK(same(1) == 1);
    RETURNED();
}

static void forks(void) {
    pid_t child = fork();
    if (child == 0) {
        same(1);
        lg_status status = lg_take_call_error();
        _exit(status == LG_E_FORKED && lg_domain_new(NULL, NULL) == NULL ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(same(1) == 1);
    RETURNED();
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "own-handler") == 0)
        return with_own_handler();
    if (argc > 1 && strcmp(argv[1], "no-queue") == 0)
        return with_no_queue();
    domain = new_domain(open_module("guest.lg"), NULL);
    same = POINTER(int (*)(int), bind(domain, "same"));
    apply = POINTER(int (*)(void *, int), bind(domain, "apply"));
    crash = POINTER(void (*)(int *), bind(domain, "crash"));
    signals();
    own_handler();
    no_queue();
#ifndef __SANITIZE_THREAD__
    masks();
    flags();
#endif
    jumps();
    exits();
    forks();
    return 0;
}
