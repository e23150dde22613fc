/* A handler that has not asked for the alternate stack runs as if the library were not there, on threads that call no domain: it has all of the
   thread's stack, leaves by any way, and finds the alternate stack as the thread has set it. With `-DNATIVE`, without the library, it is all the same. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifdef NATIVE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            abort();                                                            \
        }                                                                       \
    } while (0)
#else
#include "check.h"
#endif
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* (Programs call it all the same.) */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { SMALL = 8192, ROOM = 64 << 10 };

/* The thread's alternate stack lies between memory that stays as it is. */
struct fenced {
    char before[SMALL];
    char stack[SMALL];
    char behind[SMALL];
};

static __thread struct fenced *fenced;

static int is_in(const void *at, const char *start, size_t size) { return (uintptr_t)at - (uintptr_t)start < size; }

static void set_small_stack(void) {
    stack_t own, none;
    memset(&own, 0, sizeof own);
    fenced = (struct fenced *)malloc(sizeof *fenced);
    CHECK(fenced);
    memset(fenced, 0x5a, sizeof *fenced);
    own.ss_sp = fenced->stack;
    own.ss_size = SMALL;
    CHECK(sigaltstack(&own, &none) == 0);
}

static void check_small_stack(void) {
    stack_t now;
    CHECK(sigaltstack(NULL, &now) == 0);
    CHECK(now.ss_sp == fenced->stack && now.ss_size == SMALL && now.ss_flags == 0);
    for (int i = 0; i < SMALL; i++) CHECK(fenced->before[i] == 0x5a && fenced->behind[i] == 0x5a);
}

static void *on_small_stack(void *body) {
    set_small_stack();
    ((void (*)(void))(uintptr_t)body)();
    check_small_stack();
    stack_t none;
    memset(&none, 0, sizeof none);
    none.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&none, NULL) == 0);
    free(fenced);
    return NULL;
}

static void *end_of(void (*body)(void)) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, on_small_stack, (void *)(uintptr_t)body) == 0 && pthread_join(thread, &result) == 0);
    return result;
}

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags, const int *masked) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    for (; masked && *masked; masked++) sigaddset(&action.sa_mask, *masked);
    CHECK(sigaction(signal, &action, NULL) == 0);
}

static volatile sig_atomic_t ran;

/* Uses more than any small stack has. */
static void needs_room(int signal, siginfo_t *info, void *context) {
    volatile char room[ROOM];
    for (size_t i = 0; i < sizeof room; i += 64) room[i] = (char)signal;
    stack_t now;
    CHECK(sigaltstack(NULL, &now) == 0 && now.ss_flags == 0 && now.ss_sp == fenced->stack);
    CHECK(!is_in((const void *)room, fenced->stack, SMALL));
    CHECK(info->si_signo == signal && ((ucontext_t *)context)->uc_stack.ss_sp == fenced->stack);
    CHECK(room[128] == (char)signal);
    ran++;
}

static const int MANY[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGWINCH, SIGURG, SIGIO, SIGALRM, SIGPROF, SIGVTALRM, 0};

/* Signals that wait come at once: the frame of each lies on that of the one before. */
static void come_at_once(void) {
    for (int i = 0; MANY[i]; i++) install(MANY[i], needs_room, 0, NULL);
    for (int round = 0; round < 100; round++) {
        sigset_t all, before;
        sigfillset(&all);
        CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
        for (int i = 0; MANY[i]; i++) CHECK(pthread_kill(pthread_self(), MANY[i]) == 0);
        ran = 0;
        CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
        CHECK(ran == 10);
    }
}

/* Numbers in all kinds of registers, which signals interrupt anywhere. */
static volatile sig_atomic_t working;
static void counts(int signal, siginfo_t *info, void *context) {
    (void)info;
    (void)context;
    volatile double x = signal;
    for (int i = 0; i < 10; i++) x = x * 1.5 + i;
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm7, %%xmm7; pcmpeqd %%xmm15, %%xmm15; std; cld; fldpi; fstp %%st(0)" ::: "xmm0", "xmm7", "xmm15", "st", "cc");
    ran++;
}

static void work(void) {
    working = 1;
    while (ran < 20000) {
        uint64_t a = 1, b = 2, c = 3, d = 5;
        double e = 1, f = 3;
        long double g = 1;
        for (uint64_t i = 0; i < 1000; i++) {
            a = a * 3 + i, b ^= a << 7, c += b >> 3, d = d * c + 1;
            e = e * 0.999 + 1, f = f * 0.5 + e;
            g = g * 0.75L + 2;
        }
        static uint64_t first[4];
        static double other[2];
        static long double third;
        if (!first[0]) first[0] = a, first[1] = b, first[2] = c, first[3] = d, other[0] = e, other[1] = f, third = g;
        CHECK(first[0] == a && first[1] == b && first[2] == c && first[3] == d && other[0] == e && other[1] == f && third == g);
    }
    working = 2;
}

static void registers_stay(void) {
    pthread_t thread;
    int signals[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGRTMIN + 3};
    for (int i = 0; i < 4; i++) install(signals[i], counts, 0, NULL);
    ran = working = 0;
    CHECK(pthread_create(&thread, NULL, on_small_stack, (void *)(uintptr_t)work) == 0);
    while (!working) sched_yield();
    for (int i = 0; working == 1; i++) {
        int error = pthread_kill(thread, signals[i % 4]);
        CHECK(error == 0 || error == EAGAIN);
        if (i % 64 == 0) sched_yield();
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

/* A handler has the mask that was asked for, and the thread its own again afterwards. */
static sigset_t seen;
static void looks(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &seen) == 0);
    ran++;
    sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGTTIN); /* it stays */
}

static void masks(void) {
    const int masked[] = {SIGHUP, SIGSEGV, SIGTTOU, 0};
    for (int defers = 0; defers < 2; defers++) {
        sigset_t own, now;
        sigemptyset(&own);
        sigaddset(&own, SIGPROF);
        CHECK(pthread_sigmask(SIG_SETMASK, &own, NULL) == 0);
        install(SIGUSR1, looks, defers ? 0 : SA_NODEFER, masked);
        ran = 0;
        CHECK(raise(SIGUSR1) == 0 && ran == 1);
        for (int signal = 1; signal < NSIG; signal++) {
            int asked = signal == SIGPROF || signal == SIGHUP || signal == SIGTTOU || (defers && signal == SIGUSR1);
            if (signal != SIGSEGV && (signal < 32 || signal > 33)) CHECK(sigismember(&seen, signal) == asked);
        }
        CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
        for (int signal = 1; signal < NSIG; signal++)
            if (signal < 32 || signal > 33) CHECK(sigismember(&now, signal) == (signal == SIGPROF || signal == SIGTTIN));
    }
}

/* A handler leaves by a jump, also where it has interrupted another one. */
static sigjmp_buf place;
static void leaves(int signal, siginfo_t *info, void *context) {
    needs_room(signal, info, context);
    if (signal == SIGUSR1) raise(SIGUSR2);
    siglongjmp(place, signal);
}

static void jumps(void) {
    install(SIGUSR1, leaves, 0, NULL);
    install(SIGUSR2, leaves, 0, NULL);
    for (volatile int i = 0; i < 1000; i++) {
        ran = 0;
        int signal = sigsetjmp(place, 1);
        if (!signal) raise(SIGUSR1);
        CHECK(signal == SIGUSR2 && ran == 2);
        check_small_stack();
    }
}

/* A debugger, and a handler, finds what was interrupted. */
static void *frames[64];
static volatile int found;
static void traces(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
    found = backtrace(frames, 64);
}

__attribute__((noinline)) static void interrupted(void) {
    raise(SIGUSR1);
    __asm__ volatile("");
}

static void backtraces(void) {
    install(SIGUSR1, traces, 0, NULL);
    found = 0;
    interrupted();
    int at = 0;
    for (int i = 0; i < found; i++) at |= is_in(frames[i], (const char *)(uintptr_t)interrupted, 64);
    CHECK(at && found > 4);
}

/* What a handler changes of its context counts. */
static void changes(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RBX] = 77;
    ((ucontext_t *)context)->uc_mcontext.fpregs->_xmm[3].element[0] = 78;
}

static void contexts(void) {
    install(SIGUSR1, changes, 0, NULL);
    long b = 1, error, x;
    __asm__ volatile("mov $1, %%ebx; pxor %%xmm3, %%xmm3; syscall; mov %%rbx, %0; movq %%xmm3, %1"
                     : "=r"(b), "=&r"(x), "=a"(error)
                     : "a"(SYS_tgkill), "D"((long)getpid()), "S"(syscall(SYS_gettid)), "d"(SIGUSR1)
                     : "rbx", "rcx", "r11", "xmm3", "memory");
    CHECK(error == 0 && b == 77 && x == 78);
    /* Code that calls nothing has words below its stack's pointer. */
    install(SIGUSR1, needs_room, 0, NULL);
    long near, far;
    __asm__ volatile("movq $77, -8(%%rsp); movq $78, -128(%%rsp); syscall; mov -8(%%rsp), %0; mov -128(%%rsp), %1"
                     : "=&r"(near), "=&r"(far), "=a"(error)
                     : "a"(SYS_tgkill), "D"((long)getpid()), "S"(syscall(SYS_gettid)), "d"(SIGUSR1)
                     : "rcx", "r11", "memory");
    CHECK(error == 0 && near == 77 && far == 78);
}

/* One that comes while another's frame is moved: own signals without end, nested. */
static void nests(int signal, siginfo_t *info, void *context) {
    needs_room(signal, info, context);
    if (ran < 20) raise(signal);
}

static void nest(void) {
    install(SIGUSR1, nests, SA_NODEFER, NULL);
    ran = 0;
    raise(SIGUSR1);
    CHECK(ran == 20);
    install(SIGUSR1, needs_room, SA_RESETHAND, NULL);
    raise(SIGUSR1);
    struct sigaction now;
    CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
}

/* One that has asked for the alternate stack runs there, whatever comes. */
static void asks(int signal, siginfo_t *info, void *context) {
    (void)info;
    (void)context;
    stack_t now;
    CHECK(is_in(&signal, fenced->stack, SMALL));
    CHECK(sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_ONSTACK);
    ran += signal == SIGUSR2;
}

static void plain_beside(int signal, siginfo_t *info, void *context) {
    needs_room(signal, info, context);
    raise(SIGUSR2);
}

static void asked_for(void) {
    install(SIGUSR1, plain_beside, 0, NULL);
    install(SIGUSR2, asks, SA_ONSTACK, NULL);
    ran = 0;
    CHECK(raise(SIGUSR1) == 0 && raise(SIGUSR2) == 0 && ran == 3);
}

/* A program is told what it has asked for; what it reads past the library, and puts back, means the same. */
struct kernels {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

static void told(void) {
    const int masked[] = {SIGHUP, SIGSEGV, SIGTTOU, 0};
    struct sigaction now;
    struct kernels raw, before;
    install(SIGUSR1, needs_room, SA_RESTART, masked);
    CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_sigaction == needs_room);
    CHECK((now.sa_flags & (SA_RESTART | SA_SIGINFO | SA_ONSTACK | SA_NODEFER)) == (SA_RESTART | SA_SIGINFO));
    for (int signal = 1; signal < NSIG; signal++)
        if (signal < 32 || signal > 33)
            CHECK(sigismember(&now.sa_mask, signal) == (signal == SIGHUP || signal == SIGSEGV || signal == SIGTTOU));
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &raw, 8) == 0);
    install(SIGUSR1, counts, 0, NULL);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, &raw, &before, 8) == 0);
    ran = 0;
    CHECK(raise(SIGUSR1) == 0 && ran == 1);
    CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_sigaction == needs_room && sigismember(&now.sa_mask, SIGHUP));
    /* Put back by a function, too; and what is called instead of being entered. */
    memset(&now, 0, sizeof now);
    now.sa_sigaction = (void (*)(int, siginfo_t *, void *))(uintptr_t)before.handler;
    now.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGUSR1, &now, NULL) == 0 && raise(SIGUSR1) == 0 && ran == 2);
    ((void (*)(int, siginfo_t *, void *))(uintptr_t)before.handler)(SIGUSR1, NULL, NULL);
    CHECK(ran == 3);
    CHECK(siginterrupt(SIGUSR1, 0) == 0 && sigaction(SIGUSR1, NULL, &now) == 0);
    CHECK(now.sa_sigaction == counts && now.sa_flags & SA_RESTART);
    CHECK(signal(SIGUSR1, SIG_IGN) == (void (*)(int))(uintptr_t)counts && raise(SIGUSR1) == 0 && ran == 3);
}

/* A thread that is cancelled at any moment unwinds from a handler of libc's. */
static volatile sig_atomic_t unwound;
static void on_the_way(void *unused) {
    (void)unused;
    unwound++;
}

static void *waits_for_ever(void *unused) {
    int old;
    set_small_stack();
    CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) == 0);
    pthread_cleanup_push(on_the_way, NULL);
    working = 1;
    for (;;) __asm__ volatile("" ::: "memory");
    pthread_cleanup_pop(0);
    return unused;
}

static void cancelled(void) {
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;
        working = unwound = 0;
        CHECK(pthread_create(&thread, NULL, waits_for_ever, NULL) == 0);
        while (!working) sched_yield();
        CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
#ifndef __cplusplus /* (There it is a destructor's, which a loop without calls does not lead to.) */
        CHECK(unwound == 1);
#endif
    }
}

/* A thread whose stack is at its end has its handler of overflows, also where a plain handler comes there. */
static void ends(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
    _exit(is_in(&signal, fenced->stack, SMALL) ? 7 : 8);
}

static volatile int depth;
static int deeper(int level) {
    volatile char room[64];
    room[0] = (char)level;
    if (level % 64 == 0) raise(SIGUSR1);
    return level == depth ? 0 : deeper(level + 1) + room[0];
}

static void overflows(void) {
    install(SIGSEGV, ends, SA_ONSTACK, NULL);
    depth = -1;
    deeper(1);
}

static void overflow(void) {
    install(SIGUSR1, counts, 0, NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        end_of(overflows);
        _exit(9);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* A plain handler of faults is as any other. */
static void skips(int signal, siginfo_t *info, void *context) {
    needs_room(signal, info, context);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void faults(void) {
    install(SIGILL, skips, 0, NULL);
    for (int i = 0; i < 100; i++) {
        ran = 0;
        __asm__ volatile("ud2" ::: "memory");
        CHECK(ran == 1);
    }
}

/* More actions than the library has addresses for: those that are left over run on the alternate stack. */
static void many(void) {
    int masked[12];
    for (int number = 0; number < 600; number++) {
        struct sigaction now;
        int count = 0;
        for (int i = 0; i < 10; i++)
            if (number >> i & 1) masked[count++] = SIGRTMIN + 5 + i;
        masked[count] = 0;
        install(SIGUSR1, counts, 0, masked);
        ran = 0;
        CHECK(raise(SIGUSR1) == 0 && ran == 1);
        CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_sigaction == counts);
        for (int i = 0; i < 10; i++) CHECK(sigismember(&now.sa_mask, SIGRTMIN + 5 + i) == (number >> i & 1));
#ifndef NATIVE
        struct kernels raw;
        CHECK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &raw, 8) == 0 && raw.flags & SA_ONSTACK);
#endif
    }
}

int main(void) {
#ifndef NATIVE
    lg_module *module = open_module("guest.lg");
    lg_domain *domain = new_domain(module, NULL);
    lg_function *function = bind(domain, "int same(int)");
    int (*same)(int) = POINTER(int (*)(int), function);
    /* A handler from before. */
    install(SIGUSR1, needs_room, 0, NULL);
    CHECK(same(5) == 5 && !lg_failed());
#endif
    void (*const bodies[])(void) = {come_at_once, masks, jumps, backtraces, contexts, nest, asked_for, told};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) end_of(bodies[i]);
    registers_stay();
    cancelled();
    overflow();
    end_of(faults);
    end_of(many);
#ifndef NATIVE
    /* On a thread that calls, it has as much room, and the thread is told of its own stack. */
    CHECK(same(6) == 6 && !lg_failed());
    set_small_stack();
    check_small_stack();
    CHECK(same(7) == 7 && !lg_failed());
    check_small_stack();
    install(SIGUSR1, counts, 0, NULL);
    ran = 0;
    CHECK(raise(SIGUSR1) == 0 && ran == 1 && same(8) == 8 && !lg_failed());
    check_small_stack();
    lg_function_free(function);
    lg_domain_free(domain);
    lg_module_free(module);
#endif
    return 0;
}
