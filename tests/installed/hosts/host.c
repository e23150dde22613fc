/* A host of the installed library: one that is linked with it (main.c), or a plugin that brings it into a program that is not (loader.c and
 * the others). Says what is wrong, and returns how much that is. */
#define _GNU_SOURCE
#include <errno.h>
#include "state.h"
#include <lockgate.h>
#include <pthread.h>
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

/* Of glibc's: pthread_cancel, and setuid of all threads. */
enum { SIGCANCEL_OF_LIBC = 32, SIGSETXID_OF_LIBC = 33 };

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
static long (*limited)(long); /* spin, in a domain with a time limit */
static lg_domain *impatient;
static lg_function *functions[4];

static void let_go(void) {
    for (int i = 0; i < 4; i++)
        lg_function_free(functions[i]);
}
static void bind_all(void) {
    functions[0] = lg_bind(domain, "long spin(long)", LG_DEFAULT);
    functions[1] = lg_bind(domain, "long divide(long)", LG_DEFAULT);
    functions[2] = lg_bind(domain, "int crash(int *)", LG_DEFAULT);
    functions[3] = lg_bind(impatient, "long spin(long)", LG_DEFAULT);
    limited = (long (*)(long))lg_function_pointer(functions[3]);
    spin = (long (*)(long))lg_function_pointer(functions[0]);
    divide = (long (*)(long))lg_function_pointer(functions[1]);
    crash = (int (*)(int *))lg_function_pointer(functions[2]);
    CHECK(spin && divide && crash && limited, "%s", lg_last_message());
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

/* SIGALRM comes to this thread soon. */
static timer_t alarmed(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    struct itimerspec soon = {.it_value = {.tv_nsec = 2000000}};
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &soon, NULL) == 0, "no timer");
    return timer;
}

/* Spins in the domain until a handler has run on this thread, for at most some seconds. */
static void until_it_ran(const char *how, const char *after) {
    ran = elsewhere = 0;
    timer_t timer = alarmed();
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

/* ---- Threads that block the signals that the library lives by (R12) ---- */

static sigset_t everything, before;
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
enum { FAULTS = sizeof faults / sizeof *faults };

static void by_pthread_sigmask(void) { CHECK(pthread_sigmask(SIG_BLOCK, &everything, &before) == 0, "refused"); }
static void by_setting(void) { CHECK(pthread_sigmask(SIG_SETMASK, &everything, &before) == 0, "refused"); }
static void by_sigprocmask(void) { CHECK(sigprocmask(SIG_BLOCK, &everything, &before) == 0, "refused"); }
static void by_sigprocmask_setting(void) { CHECK(sigprocmask(SIG_SETMASK, &everything, &before) == 0, "refused"); }
static void by_sighold(void) {
    for (int i = 0; i < FAULTS; i++)
        CHECK(sighold(faults[i]) == 0, "refused");
}
static void by_sigset_hold(void) {
    for (int i = 0; i < FAULTS; i++)
        CHECK(sigset(faults[i], SIG_HOLD) != SIG_ERR, "refused");
}
static void by_sigblock(void) { sigblock(~0); }
static void by_sigsetmask(void) { CHECK((sigsetmask(~0) & 1 << (SIGSEGV - 1)) == 0 && siggetmask() & 1 << (SIGSEGV - 1), "sigsetmask"); }
/* A handler whose mask has everything, left by a jump that does not restore the mask. */
static jmp_buf plain;
static void leaves(int number) {
    (void)number;
    _longjmp(plain, 1);
}
static void leave_handler(int number) {
    struct sigaction new = {.sa_handler = leaves, .sa_mask = everything}, old, found;
    sigaction(number, &new, &old);
    sigaction(number, NULL, &found);
    CHECK(sigismember(&found.sa_mask, SIGSEGV) == 1 && sigismember(&found.sa_mask, SIGUSR1) == 1, "a handler's mask is another");
    if (_setjmp(plain) == 0)
        raise(number);
    sigaction(number, &old, &found);
    CHECK(sigismember(&found.sa_mask, SIGSEGV) == 1, "a handler's mask was another");
}
static void by_handler(void) { leave_handler(SIGALRM); }
/* The host's own fault. */
static void by_handler_of_faults(void) {
    struct sigaction new = {.sa_handler = leaves}, old;
    sigaction(SIGSEGV, &new, &old);
    if (_setjmp(plain) == 0)
        *(volatile int *)16 = 1;
    sigaction(SIGSEGV, &old, NULL);
    leave_handler(SIGFPE);
}
static const struct {
    const char *name;
    void (*block)(void);
    int seen; /* the thread's mask says so */
    int alone; /* other threads of the host's must have no faults meanwhile */
} blocks[] = {
    {"pthread_sigmask", by_pthread_sigmask, 1, 0}, {"SIG_SETMASK", by_setting, 1, 0},
    {"sigprocmask", by_sigprocmask, 1, 0},         {"sigprocmask, SIG_SETMASK", by_sigprocmask_setting, 1, 0},
    {"sighold", by_sighold, 1, 0},                 {"sigset, SIG_HOLD", by_sigset_hold, 1, 0},
    {"sigblock", by_sigblock, 1, 0},               {"sigsetmask", by_sigsetmask, 1, 0},
    {"a handler that jumps", by_handler, 0, 0},    {"a handler of a fault that jumps", by_handler_of_faults, 0, 1},
};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

static void fails(const char *how, const char *after) {
    crash((int *)8);
    CHECK(lg_failed() && lg_take_call_error() && lg_last_status() == LG_E_FAULT, "%s, %s: a store", how, after);
    divide(0);
    CHECK(lg_failed() && lg_take_call_error() && lg_last_status() == LG_E_FAULT, "%s, %s: a division", how, after);
    limited(1l << 50);
    CHECK(lg_failed() && lg_take_call_error() && lg_last_fault() && lg_last_fault()->kind == LG_FAULT_TIME_OUT, "%s, %s: a limit", how, after);
    CHECK(spin(3) == 3 && !lg_failed(), "and calls go on");
}

static void *starts_with_a_mask(void *unused) {
    sigjmp_buf older;
    if (sigsetjmp(older, 1) == 0) {
        fails("pthread_attr_setsigmask_np", "a new thread");
        siglongjmp(older, 1); /* which brings the mask back that the thread began with */
    }
    by_bind();
    fails("siglongjmp", "bind");
    return unused;
}

/* `alone`: no other thread of the host's lives by faults of its own. */
static void blocking_threads(int first, int alone) {
    sigfillset(&everything);
    for (int after = first; after < SLOW; after++) {
        if (first && slow[after].take == by_fault)
            continue; /* nobody looks before the fault itself */
        for (int way = 0; way < BLOCKS; way++) {
            if (blocks[way].alone && !alone)
                continue;
            blocks[way].block();
            slow[after].take();
            sigset_t now;
            pthread_sigmask(SIG_SETMASK, NULL, &now);
            for (int i = 0; !first && i < FAULTS; i++)
                CHECK(!blocks[way].seen || sigismember(&now, faults[i]) == 1, "%s: signal %d is not seen blocked", blocks[way].name, faults[i]);
            fails(blocks[way].name, slow[after].name);
            /* What is let through is seen so, too. */
            sigemptyset(&now);
            sigaddset(&now, SIGFPE);
            CHECK(sigrelse(SIGSEGV) == 0 && pthread_sigmask(SIG_UNBLOCK, &now, NULL) == 0, "refused");
            sigprocmask(SIG_BLOCK, NULL, &now);
            CHECK(!sigismember(&now, SIGSEGV) && !sigismember(&now, SIGFPE), "%s: still seen blocked", blocks[way].name);
            fails(blocks[way].name, "some let through");
            sigemptyset(&now);
            pthread_sigmask(SIG_SETMASK, &now, NULL);
            pthread_sigmask(SIG_BLOCK, NULL, &now);
            CHECK(sigisemptyset(&now), "%s: a signal stays blocked", blocks[way].name);
        }
    }
    CHECK(pthread_sigmask(77, &everything, NULL) == EINVAL && sigprocmask(77, &everything, NULL) == -1 && errno == EINVAL, "no way");
    CHECK(sighold(0) == -1 && errno == EINVAL && sigrelse(65) == -1, "no signal");
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &everything);
    CHECK(pthread_create(&thread, &attributes, starts_with_a_mask, NULL) == 0 && pthread_join(thread, NULL) == 0, "no thread");
    pthread_attr_destroy(&attributes);
}

/* (Its start, too, is within its time limit, which may pass on a busy machine.) */
static lg_domain *new_domain(lg_module *of_it, lg_options *options) {
    lg_domain *made;
    do
        made = lg_domain_new(of_it, options);
    while (!made && lg_last_fault() && lg_last_fault()->kind == LG_FAULT_TIME_OUT);
    return made;
}

static int ready(const char *file) {
    module = lg_module_open(file);
    domain = module ? lg_domain_new(module, NULL) : NULL;
    pool = module ? lg_pool_new(module, NULL, 2) : NULL;
    lg_options *options = lg_options_new();
    lg_options_time_limit(options, 20);
    impatient = module ? new_domain(module, options) : NULL;
    if (!domain || !pool || !impatient)
        return printf("%s\n", lg_last_message()), 0;
    bind_all();
    spin(1); /* the thread is admitted */
    return 1;
}

/* ---- Calls of handlers, jumps over domains, the state behind a call (R13, R15, R16) ---- */

struct gated {
    lg_domain *domain;
    void (*does)(void); /* what its function of the host does */
    void (*call_host)(void);
    int (*call_host_then)(int);
    int (*fine)(void);
    long (*where)(void);
    long (*spin)(long);
};
static struct gated inner, outer, hasty; /* hasty: with a time limit */
static void host(void) { ((struct gated *)lg_user_data())->does(); }
static lg_code of(struct gated *it, const char *prototype) {
    lg_function *function = lg_bind(it->domain, prototype, LG_DEFAULT);
    CHECK(function, "%s", lg_last_message());
    return function ? lg_function_pointer(function) : NULL;
}
static void make(struct gated *it, lg_module *of_it, unsigned limit) {
    lg_options *options = lg_options_new();
    CHECK(lg_options_gate(options, "void host(void)", (lg_code)host, it) == LG_OK, "%s", lg_last_message());
    if (limit)
        lg_options_time_limit(options, limit);
    it->domain = new_domain(of_it, options);
    CHECK(it->domain, "%s", lg_last_message());
    it->call_host = (void (*)(void))of(it, "void call_host(void)");
    it->call_host_then = (int (*)(int))of(it, "int call_host_then(int)");
    it->fine = (int (*)(void))of(it, "int fine(void)");
    it->where = (long (*)(void))of(it, "long where(void)");
    it->spin = (long (*)(long))of(it, "long spin(long)");
}

static volatile sig_atomic_t handled, refused, asks;
static void calls(int number) {
    (void)number;
    int value = inner.fine();
    /* (To ask allocates, which not every place allows.) */
    refused += lg_failed() && value != 7 && (!asks || lg_take_call_error() == LG_E_SIGNAL_HANDLER);
    handled++;
}
static void by_raise(void) { raise(SIGALRM); }
static void in_the_domain(void) {
    timer_t timer = alarmed();
    for (int i = 0; !handled && i < 100000; i++)
        inner.spin(20000);
    timer_delete(timer);
}
static const struct {
    const char *name;
    void (*interrupt)(void);
} places[] = {{"outside", by_raise}, {"in a function of the host", NULL}, {"in a domain", in_the_domain}};
static void calls_of_handlers(void) {
    by_sigaction(SIGALRM, calls);
    by_bind();
    spin(1); /* the call that looks */
    inner.does = by_raise;
    for (int i = 0; i < 3; i++) {
        handled = refused = 0;
        asks = places[i].interrupt != in_the_domain;
        (places[i].interrupt ? places[i].interrupt : inner.call_host)();
        CHECK(handled && refused == handled, "%s: %d of %d calls of handlers were refused", places[i].name, (int)refused, (int)handled);
        CHECK(!lg_failed() || !lg_take_call_error(), "%s: %s", places[i].name, lg_last_message());
        CHECK(inner.fine() == 7 && !lg_failed(), "%s: the thread goes on", places[i].name);
    }
    signal(SIGALRM, SIG_DFL);
}

static jmp_buf out;
static void jumps(void) { _longjmp(out, 1); }
static void over_a_domain(void) {
    if (_setjmp(out) == 0) {
        inner.call_host();
        wrong++, puts("the host's function comes back");
    }
}
static void handler_jumps(int number) {
    (void)number;
    siglongjmp(back, 1);
}
static void out_of_a_handler(void) {
    timer_t volatile timer;
    if (sigsetjmp(back, 1) == 0) {
        timer = alarmed(); /* not before there is somewhere to jump to */
        inner.spin(1l << 50);
        wrong++, puts("the handler comes back");
    }
    timer_delete(timer);
}
static void jumps_over_domains(void) {
    by_sigaction(SIGALRM, handler_jumps);
    by_bind();
    spin(1);
    long top = inner.where();
    inner.does = jumps;
    for (int i = 0; i < 5000; i++)
        over_a_domain();
    for (int i = 0; i < 20; i++)
        out_of_a_handler();
    CHECK(inner.fine() == 7 && !lg_failed() && inner.where() == top, "calls begin at %lx, not at %lx", inner.where(), top);
    /* Out of an inner domain: the outer one goes on in its own window. */
    for (int i = 0; i < 120; i++) {
        outer.does = i < 100 ? over_a_domain : out_of_a_handler;
        CHECK(outer.call_host_then(i) == i + 1 && !lg_failed(), "another's window");
    }
    CHECK(inner.fine() == 7 && !lg_failed(), "the inner one goes on");
    /* A limit goes with its call. */
    hasty.does = jumps;
    if (_setjmp(out) == 0)
        hasty.call_host();
    hasty.spin(1l << 50);
    CHECK(lg_failed() && lg_take_call_error() && lg_last_fault() && lg_last_fault()->kind == LG_FAULT_TIME_OUT, "a limit behind a jump");
    signal(SIGALRM, SIG_DFL);
}

/* ---- Threads that end in a call: in a function of the host's, or in a handler over the domain's code ---- */

static volatile sig_atomic_t cleaned;
static void cleans(void *unused) {
    (void)unused;
    cleaned++;
}
static volatile int by_cancellation;
static void ends_thread(void) {
    if (by_cancellation && pthread_cancel(pthread_self()) == 0)
        pthread_testcancel();
    pthread_exit((void *)5);
}
static void handler_ends(int number) {
    (void)number;
    ends_thread();
}
static void *calls_until_ended(void *spins) {
    pthread_cleanup_push(cleans, NULL);
    if (spins)
        alarmed(); /* (It goes with the process: nothing of this thread's runs afterwards.) */
    spins ? (void)inner.spin(1l << 50) : inner.call_host();
    wrong++, puts("a call comes back that has ended its thread");
    pthread_cleanup_pop(0);
    return NULL;
}
static void threads_that_end(void) {
    lg_usage before, after;
    by_sigaction(SIGALRM, handler_ends);
    by_bind();
    spin(1);
    inner.does = ends_thread;
    CHECK(lg_domain_usage(inner.domain, &before, sizeof before) == LG_OK, "%s", lg_last_message());
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        void *result = NULL;
        cleaned = 0;
        by_cancellation = i & 1;
        CHECK(pthread_create(&thread, NULL, calls_until_ended, (void *)(long)(i & 2)) == 0 && pthread_join(thread, &result) == 0, "no thread");
        CHECK(cleaned == 1 && result == (i & 1 ? PTHREAD_CANCELED : (void *)5), "thread %d: cleaned up %d times, %p", i, (int)cleaned, result);
    }
    CHECK(lg_domain_usage(inner.domain, &after, sizeof after) == LG_OK, "%s", lg_last_message());
    CHECK(after.threads == before.threads, "%u threads have a place, not %u", after.threads, before.threads);
    CHECK(inner.fine() == 7 && !lg_failed(), "and calls go on");
    signal(SIGALRM, SIG_DFL);
}

/* ---- All signals at once: each of its own timer, at one moment, over the domain's code ---- */

static volatile sig_atomic_t came[65], off_stack;
static void counts(int number) {
    stack_t now;
    syscall(SYS_sigaltstack, NULL, &now);
    off_stack += !(now.ss_flags & SS_ONSTACK);
    came[number]++;
}
static void all_at_once(void) {
    enum { TIMES = 20 };
    struct sigaction olds[65], new = {.sa_handler = counts};
    timer_t timers[65];
    int numbers[65], count = 0;
    for (int number = 1; number <= SIGRTMAX; number++) {
        int ours = number == SIGKILL || number == SIGSTOP || number == SIGCANCEL_OF_LIBC || number == SIGSETXID_OF_LIBC;
        for (int i = 0; i < FAULTS; i++)
            ours |= number == faults[i];
        /* The kernel forgets a SIGCONT that waits when a signal comes that stops. A language's own threads are sent the others by each other. */
        if (ours || number == SIGCONT || number == SIGURG || number == SIGQUIT || sigaction(number, NULL, &olds[count]) != 0)
            continue;
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
        event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
        if (timer_create(CLOCK_MONOTONIC, &event, &timers[count]) == 0 && sigaction(number, &new, NULL) == 0)
            numbers[count++] = number;
    }
    CHECK(count > 40, "only %d signals", count);
    by_bind();
    spin(1); /* the call that looks */
    off_stack = 0;
    memset((void *)came, 0, sizeof came);
    for (int time = 1; time <= TIMES; time++) {
        struct itimerspec at = {{0, 0}, {0, 0}};
        clock_gettime(CLOCK_MONOTONIC, &at.it_value);
        at.it_value.tv_nsec += 3000000;
        if (at.it_value.tv_nsec >= 1000000000)
            at.it_value = (struct timespec){at.it_value.tv_sec + 1, at.it_value.tv_nsec - 1000000000};
        for (int i = 0; i < count; i++)
            timer_settime(timers[i], TIMER_ABSTIME, &at, NULL);
        for (int i = 0; i < count && !wrong; i++) {
            for (int spins = 0; came[numbers[i]] < time && spins < 100000 && !wrong; spins++)
                CHECK(spin(20000) == 20000 && !lg_failed(), "a call ends: %s", lg_last_message());
            CHECK(came[numbers[i]] >= time, "signal %d does not come", numbers[i]);
        }
    }
    CHECK(!off_stack, "%d handlers are not on the alternate stack", (int)off_stack);
    for (int i = 0; i < count; i++) {
        CHECK(came[numbers[i]] == TIMES, "signal %d came %d times", numbers[i], (int)came[numbers[i]]);
        timer_delete(timers[i]);
        sigaction(numbers[i], &olds[i], NULL);
    }
}

static void state_behind_calls(void) {
    static const unsigned short controls[] = {0x037f, 0x0f7f}; /* to nearest, to zero */
    static const unsigned mxcsrs[] = {0x1f80, 0x7f80};
    /* A fault is no matter of trust. */
    static const struct {
        lg_policy policy;
        unsigned long crash;
    } cases[] = {{LG_DEFAULT, 0}, {LG_MUTUAL_DISTRUST, 0}, {LG_DEFAULT, 1}, {LG_MUTUAL_DISTRUST, 1}, {LG_MUTUAL_TRUST, 1}};
    for (int i = 0; i < 10; i++) {
        lg_function *function = lg_bind(inner.domain, "long dirty(long)", cases[i % 5].policy);
        CHECK(function, "%s", lg_last_message());
        const unsigned long words[6] = {cases[i % 5].crash};
        unsigned short control;
        unsigned mxcsr;
        long value;
        __asm__ volatile("fnstcw %0\n\tfldcw %2\n\tstmxcsr %1\n\tldmxcsr %3" : "=m"(control), "=m"(mxcsr) : "m"(controls[i / 5]), "m"(mxcsrs[i / 5]));
        const char *changed = changed_by(lg_function_pointer(function), words, &value);
        __asm__ volatile("fldcw %0\n\tldmxcsr %1" : : "m"(control), "m"(mxcsr));
        CHECK(!changed, "case %d: %s", i, changed);
        lg_status status = lg_failed() ? lg_take_call_error() : LG_OK;
        CHECK(status == (words[0] ? LG_E_FAULT : LG_OK), "case %d: %d", i, (int)status);
        lg_function_free(function);
    }
}

static void crossings(void) {
    lg_module *gated = lg_module_open("gated.lg");
    CHECK(gated, "%s", lg_last_message());
    make(&inner, gated, 0);
    make(&outer, gated, 0);
    make(&hasty, gated, 20);
    if (wrong)
        return;
    state_behind_calls();
    jumps_over_domains();
    calls_of_handlers();
    threads_that_end();
    all_at_once();
}

void (*host_late)(void); /* what a host does behind its first call: it installs its handlers */

static int handlers(const char *file, int first) {
    if (!ready(file))
        return 1;
    crossings();
    late_handlers(first);
    late_faults(first);
    blocking_threads(first, 1);
    return wrong;
}

/* In a program that lives by its own handlers of faults: domains' do not come there. (No handler of faults takes their place, not for a moment:
 * other threads may have one.) */
static int foreign(const char *file) {
    if (!ready(file))
        return 1;
    if (host_late)
        host_late();
    late_handlers(1);
    crossings();
    blocking_threads(1, 0);
    for (int i = 0; i < 200; i++) {
        divide(0);
        CHECK(lg_failed() && lg_take_call_error() && lg_last_status() == LG_E_FAULT, "a division");
        crash((int *)8);
        CHECK(lg_failed() && lg_take_call_error() && lg_last_status() == LG_E_FAULT, "a store");
    }
    return wrong;
}

/* ---- A process that may have little memory or address space ---- */

/* Makes domains, as many as there may be, and calls each. What cannot be had is refused with a word; what there is stays as it is. Says how many. */
static int poor(const char *file) {
    enum { MOST = 40 };
    lg_domain *domains[MOST];
    lg_function *bound[MOST];
    int count = 0;
    module = lg_module_open(file);
    if (!module) {
        CHECK(lg_last_status() == LG_E_MEMORY || lg_last_status() == LG_E_HOST, "status %d: %s", (int)lg_last_status(), lg_last_message());
        CHECK(lg_last_message()[0], "no word");
        return wrong ? wrong : (puts("none"), 0);
    }
    for (; count < MOST; count++) {
        domains[count] = lg_domain_new(module, NULL);
        bound[count] = domains[count] ? lg_bind(domains[count], "long spin(long)", LG_DEFAULT) : NULL;
        if (!bound[count] || ((long (*)(long))lg_function_pointer(bound[count]))(3) != 3 || lg_failed()) {
            lg_status status = lg_failed() ? lg_take_call_error() : lg_last_status();
            CHECK(status == LG_E_MEMORY || status == LG_E_HOST || status == LG_E_START || status == LG_E_THREADS, "status %d: %s", (int)status, lg_last_message());
            CHECK(lg_last_message()[0], "no word");
            lg_function_free(bound[count]);
            lg_domain_free(domains[count]);
            break;
        }
    }
    for (int time = 0; time < 2; time++)
        for (int i = 0; i < count; i++) {
            lg_function *crashes = lg_bind(domains[i], "int crash(int *)", LG_DEFAULT);
            if (crashes) {
                ((int (*)(int *))lg_function_pointer(crashes))((int *)8);
                CHECK(lg_failed() && lg_take_call_error() && lg_last_status() == LG_E_FAULT, "domain %d: a store", i);
                lg_function_free(crashes);
            } else
                CHECK(lg_last_status() == LG_E_MEMORY, "domain %d: %s", i, lg_last_message());
            CHECK(((long (*)(long))lg_function_pointer(bound[i]))(3) == 3 && !lg_failed(), "domain %d goes on", i);
        }
    for (int i = 0; i < count; i++) {
        lg_function_free(bound[i]);
        lg_domain_free(domains[i]);
    }
    if (!wrong)
        printf("%d\n", count);
    return wrong;
}

/* Says whether a module is loaded, or why not. */
static int opens(const char *file) {
    puts(lg_module_open(file) ? "opened" : lg_last_message());
    return 0;
}

int attack(int count, char **words); /* attack.c */
int unprotected(const char *file);   /* unprotected.c */

/* `linked MODULE`: handlers are seen at once; `late MODULE`: behind a slow path; `foreign MODULE`: the same, with faults left alone;
 * `poor MODULE`: as many domains as there may be; `opens MODULE`; `unprotected MODULE`; `attack …`. */
int host_main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 2 && strcmp(argv[1], "linked") == 0)
        return handlers(argv[2], 0);
    if (argc > 2 && strcmp(argv[1], "late") == 0)
        return handlers(argv[2], 1);
    if (argc > 2 && strcmp(argv[1], "opens") == 0)
        return opens(argv[2]);
    if (argc > 2 && strcmp(argv[1], "poor") == 0)
        return poor(argv[2]);
    if (argc > 2 && strcmp(argv[1], "foreign") == 0)
        return foreign(argv[2]);
    if (argc > 2 && strcmp(argv[1], "unprotected") == 0)
        return unprotected(argv[2]);
    if (argc > 6 && strcmp(argv[1], "attack") == 0)
        return attack(argc - 2, argv + 2);
    return puts("what?"), 2;
}
