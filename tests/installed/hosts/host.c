/* A host of the installed library: one that is linked with it (main.c), or a plugin that brings it into a program that is not (loader.c and
 * the others). Says what is wrong, and returns how much that is. */
#define _GNU_SOURCE
#include <lockgate.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int wrong;
#define CHECK(what, ...) ((what) ? 0 : (wrong++, printf("%s:%d: " #what ": ", __FILE__, __LINE__), printf(__VA_ARGS__), putchar('\n'), 0))

/* ---- Handlers that come after the first call (R11, R12) ---- */

typedef void (*handler)(int);
handler __sysv_signal(int, handler);
#undef signal
static handler by_signal(int n, handler h) { return signal(n, h); }
handler iso_signal(int n, handler h); /* iso.c: signal() of a program in plain C */
handler bsd_signal(int, handler);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static handler by_sigset(int n, handler h) { return sigset(n, h); }
static handler by_sigaction(int n, handler h) {
    struct sigaction now = {.sa_handler = h}, old;
    return sigaction(n, &now, &old) == 0 ? old.sa_handler : SIG_ERR;
}
static const struct {
    const char *name;
    handler (*install)(int, handler);
} ways[] = {
    {"sigaction", by_sigaction}, {"signal", by_signal},           {"signal of plain C", iso_signal},  {"bsd_signal", bsd_signal}, {"ssignal", ssignal},
    {"sigset", by_sigset},       {"__sysv_signal", __sysv_signal}, {"sysv_signal", sysv_signal},
};
enum { WAYS = sizeof ways / sizeof *ways };

static volatile sig_atomic_t ran, elsewhere;
static void on_signal(int number) {
    (void)number;
    stack_t now;
    syscall(SYS_sigaltstack, NULL, &now);
    elsewhere += !(now.ss_flags & SS_ONSTACK);
    ran++;
}

/* As the kernel has it. */
struct action {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};
static struct action kernels(int number) {
    struct action now;
    memset(&now, 0, sizeof now);
    syscall(SYS_rt_sigaction, number, NULL, &now, 8);
    return now;
}

static lg_module *module;
static lg_domain *domain;
static lg_pool *pool;
static long (*spin)(long);
static long (*divide)(long);
static int (*crash)(int *);
static lg_function *functions[3];

static void let_go(void) {
    for (int i = 0; i < 3; i++)
        lg_function_free(functions[i]);
}
static void bind_all(void) {
    functions[0] = lg_bind(domain, "long spin(long)", LG_DEFAULT);
    functions[1] = lg_bind(domain, "long divide(long)", LG_DEFAULT);
    functions[2] = lg_bind(domain, "int crash(int *)", LG_DEFAULT);
    spin = (long (*)(long))lg_function_pointer(functions[0]);
    divide = (long (*)(long))lg_function_pointer(functions[1]);
    crash = (int (*)(int *))lg_function_pointer(functions[2]);
    CHECK(spin && divide && crash, "%s", lg_last_message());
}

/* Ways that are slow already, behind which the library looks again where it cannot stand in for libc's functions. */
static void nothing(void) {}
static void by_bind(void) {
    let_go();
    bind_all();
}
static void by_reset(void) {
    let_go();
    CHECK(lg_domain_reset(domain) == LG_OK, "%s", lg_last_message());
    bind_all();
}
static void by_pool(void) {
    lg_domain *other = lg_pool_take(pool);
    CHECK(other, "%s", lg_last_message());
    lg_domain_free(other);
}
static void by_fault(void) {
    crash(NULL);
    CHECK(lg_failed() && lg_take_call_error(), "no fault");
}
static void by_asking(void) { CHECK(lg_claim_signals() == LG_OK, "%s", lg_last_message()); }
static const struct {
    const char *name;
    void (*take)(void);
} slow[] = {{"nothing", nothing}, {"bind", by_bind}, {"reset", by_reset}, {"pool", by_pool}, {"fault", by_fault}, {"claim", by_asking}};
enum { SLOW = sizeof slow / sizeof *slow };

/* Spins in the domain until a handler has run on this thread, for at most some seconds. */
static void until_it_ran(const char *how, const char *after) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    struct itimerspec soon = {.it_value = {.tv_nsec = 2000000}};
    timer_t timer;
    ran = elsewhere = 0;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &soon, NULL) == 0, "no timer");
    for (int i = 0; !ran && i < 100000; i++)
        spin(20000);
    timer_delete(timer);
    CHECK(ran && !elsewhere, "%s, %s: %d handlers, %d of them not on the alternate stack", how, after, (int)ran, (int)elsewhere);
}

static void late_handlers(int first) {
    for (int after = first; after < SLOW; after++) {
        for (int way = 0; way < WAYS; way++) {
            ways[way].install(SIGALRM, on_signal);
            slow[after].take();
            spin(1); /* the call that looks */
            CHECK(kernels(SIGALRM).flags & SA_ONSTACK, "%s, %s: SIGALRM without SA_ONSTACK", ways[way].name, slow[after].name);
            until_it_ran(ways[way].name, slow[after].name);
            signal(SIGALRM, SIG_DFL);
        }
        stack_t none = {.ss_flags = SS_DISABLE}, now;
        by_sigaction(SIGALRM, on_signal);
        sigaltstack(&none, NULL);
        slow[after].take();
        spin(1);
        syscall(SYS_sigaltstack, NULL, &now);
        CHECK(!(now.ss_flags & SS_DISABLE), "%s: the alternate stack is off", slow[after].name);
        until_it_ran("alternate stack off", slow[after].name);
    }
}

/* ---- Handlers of faults that come after the first call (R14) ---- */

static sigjmp_buf back;
static volatile sig_atomic_t caught;
static void on_fault(int number) {
    caught = number;
    siglongjmp(back, 1);
}

static void late_faults(int first) {
    for (int after = first; after < SLOW; after++) {
        if (slow[after].take == by_fault)
            continue; /* the handler of the host would see it */
        for (int way = 0; way < WAYS; way++) {
            ways[way].install(SIGFPE, on_fault);
            ways[way].install(SIGSEGV, on_fault);
            slow[after].take();
            spin(1);
            caught = 0;
            if (sigsetjmp(back, 1) == 0) {
                divide(0);
                CHECK(lg_failed() && lg_take_call_error() && lg_last_status() == LG_E_FAULT, "%s: a division", ways[way].name);
                crash((int *)8);
                CHECK(lg_failed() && lg_take_call_error() && lg_last_status() == LG_E_FAULT, "%s: a store", ways[way].name);
            }
            CHECK(!caught, "%s, %s: the host got signal %d of a domain", ways[way].name, slow[after].name, (int)caught);
            /* Its own it gets. */
            if (sigsetjmp(back, 1) == 0)
                *(volatile int *)16 = 1;
            CHECK(caught == SIGSEGV, "%s, %s: the host's fault did not come: %d", ways[way].name, slow[after].name, (int)caught);
            CHECK(spin(3) == 3 && !lg_failed(), "and calls go on");
        }
        signal(SIGFPE, SIG_DFL);
        signal(SIGSEGV, SIG_DFL);
    }
}

static int ready(const char *file) {
    module = lg_module_open(file);
    domain = module ? lg_domain_new(module, NULL) : NULL;
    pool = module ? lg_pool_new(module, NULL, 2) : NULL;
    if (!domain || !pool)
        return printf("%s\n", lg_last_message()), 0;
    bind_all();
    spin(1); /* the thread is admitted */
    return 1;
}

static int handlers(const char *file, int first) {
    if (!ready(file))
        return 1;
    late_handlers(first);
    late_faults(first);
    return wrong;
}

/* In a program that lives by its own handlers of faults: domains' do not come there. */
static int foreign(const char *file) {
    if (!ready(file))
        return 1;
    late_handlers(1);
    for (int i = 0; i < 200; i++) {
        divide(0);
        CHECK(lg_failed() && lg_take_call_error() && lg_last_status() == LG_E_FAULT, "a division");
        crash((int *)8);
        CHECK(lg_failed() && lg_take_call_error() && lg_last_status() == LG_E_FAULT, "a store");
    }
    return wrong;
}

int attack(int count, char **words); /* attack.c */

/* `linked MODULE`: handlers are seen at once; `late MODULE`: behind a slow way; `foreign MODULE`: the same, with faults left alone; `attack …`. */
int host_main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 2 && strcmp(argv[1], "linked") == 0)
        return handlers(argv[2], 0);
    if (argc > 2 && strcmp(argv[1], "late") == 0)
        return handlers(argv[2], 1);
    if (argc > 2 && strcmp(argv[1], "foreign") == 0)
        return foreign(argv[2]);
    if (argc > 6 && strcmp(argv[1], "attack") == 0)
        return attack(argc - 2, argv + 2);
    return puts("what?"), 2;
}
