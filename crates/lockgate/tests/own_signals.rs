//! Signals of a domain's own (docs/decisions/0080): handlers that its code runs at system calls and at any instruction, how they return and how
//! they leave, and what a hostile module can do with them.

use crate::common::{Guest, host_sys, watchdog};
use lockgate::{CallError, Domain, DomainOptions, FaultKind, HostFunction, Module};
use std::process::Command;
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::time::Duration;

type Long = extern "C" fn(i64) -> i64;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#define FAR __attribute__((noinline, noclone))
long host(long);

static volatile int got, count, code;
static volatile uintptr_t address, rip;
static sigjmp_buf place;
static void note(int signal) { got = signal; count++; }
static void tell(int signal, siginfo_t *info, void *context) {
    got = signal, count++, code = info->si_code, address = (uintptr_t)info->si_addr;
    rip = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}
static void leave(int signal) { count++; siglongjmp(place, signal); }
static void on(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, 0);
}
static void on_told(int signal, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};
    sigaction(signal, &action, 0);
}
FAR static long quiet(void) { sigset_t none; sigemptyset(&none); sigprocmask(SIG_SETMASK, &none, 0); got = count = 0; return 0; }
static int blocks(int signal) { sigset_t now; sigprocmask(SIG_BLOCK, 0, &now); return sigismember(&now, signal); }

long raises(long n) {
    quiet();
    on(SIGUSR1, note, 0);
    for (long i = 0; i < n; i++) { got = 0; if (raise(SIGUSR1) || got != SIGUSR1 || count != i + 1) return -1 - i; }
    got = 0; if (kill(getpid(), SIGUSR1) || got != SIGUSR1) return -1000;
    return blocks(SIGUSR1) ? -2000 : count;
}

static volatile long came;
static void whole(int signal) {
    came = came * 10 + (signal == SIGUSR1 ? 1 : signal == SIGUSR2 ? 2 : 3);
    getppid(); // where another handler could begin
    came = came * 10 + (signal == SIGUSR1 ? 4 : signal == SIGUSR2 ? 5 : 6);
}
long come_together(long way) {
    quiet();
    int signals[] = {SIGUSR1, SIGUSR2, SIGRTMIN + 3};
    sigset_t none, all;
    sigemptyset(&none), sigemptyset(&all);
    for (int i = 0; i < 3; i++) {
        struct sigaction action = {.sa_handler = whole, .sa_flags = way & 8 ? SA_NODEFER : 0};
        if (way & 16) sigaddset(&action.sa_mask, SIGUSR2); // the second one waits for the first one's end
        sigaction(signals[i], &action, 0), sigaddset(&all, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &all, 0);
    for (int i = 3; i-- > 0;) raise(signals[i]), raise(signals[i]);
    came = 0;
    switch (way & 7) {
        case 0: sigprocmask(SIG_SETMASK, &none, 0); break;
        case 1: sigsuspend(&none); break;
        case 2: ppoll(0, 0, 0, &none); break;
        case 3: pthread_sigmask(SIG_UNBLOCK, &all, 0); break;
    }
    came = came * 10 + 9; // (whatever has not come yet waits)
    sigprocmask(SIG_SETMASK, &none, 0);
    return came;
}

/* However many come together, none runs in the midst of another one. */
static volatile int nested_now, most_nested;
static void whole_too(int signal) {
    if (++nested_now > most_nested) most_nested = nested_now;
    sigset_t now, other;
    sigemptyset(&other), sigaddset(&other, SIGURG);
    switch (count % 4) { /* what lets none of those come that wait for room */
        case 0: sigprocmask(SIG_BLOCK, 0, &now); break;
        case 1: kill(getpid(), 0); break;
        case 2: raise(SIGURG); break;
        case 3: sigprocmask(SIG_UNBLOCK, &other, 0); break;
    }
    count++, getppid(), nested_now--;
}
long many_come_together(long queued) {
    quiet();
    sigset_t none, all;
    sigemptyset(&none), sigfillset(&all);
    most_nested = 0;
    sigprocmask(SIG_BLOCK, &all, 0);
    if (queued) {
        on(SIGRTMIN + 1, whole_too, SA_NODEFER);
        for (int i = 0; i < queued; i++) raise(SIGRTMIN + 1);
    } else {
        for (int i = 1; i <= 27; i++) on(SIGRTMIN + i, whole_too, 0), raise(SIGRTMIN + i);
    }
    sigprocmask(SIG_SETMASK, &none, 0);
    return count * 100 + most_nested;
}

static const int each[] = {SIGUSR2, SIGSEGV, SIGHUP, SIGILL, SIGTERM, 40, SIGSYS, SIGTRAP, SIGFPE};
static void comes(int signal) { for (int i = 0; i < 9; i++) if (each[i] == signal) came = came * 10 + i + 1; }
long in_order(long to_the_thread) {
    quiet();
    sigset_t none, all;
    sigemptyset(&none), sigfillset(&all), came = 0;
    sigprocmask(SIG_BLOCK, &all, 0);
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < 9; i++) {
            on(each[i], comes, 0);
            to_the_thread >> i & 1 ? raise(each[i]) : kill(getpid(), each[i]);
        }
        for (int taken; !twice && (taken = sigtimedwait(&all, 0, &(struct timespec){0})) > 0;) comes(taken);
    }
    sigprocmask(SIG_SETMASK, &none, 0);
    return came;
}
static long waiting(void) {
    sigset_t set;
    sigpending(&set);
    long all = 0;
    for (int i = 1; i < 32; i++) all |= sigismember(&set, i) ? 1 << i : 0;
    return all;
}
long takes_back(long way) {
    quiet();
    sigset_t none, all;
    sigemptyset(&none), sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    on(SIGTSTP, note, 0), on(SIGCONT, note, 0), on(SIGTTIN, note, 0);
    raise(SIGHUP);
    if (way) raise(SIGTSTP), kill(getpid(), SIGTTIN), raise(SIGCONT);
    else raise(SIGCONT), kill(getpid(), SIGCONT), raise(SIGTSTP);
    long found = waiting();
    on(SIGHUP, SIG_IGN, 0);
    sigprocmask(SIG_SETMASK, &none, 0);
    return found + count;
}
static void tells_what_waits(int signal) { came = waiting(); }
long ignored_behind(long way) {
    quiet();
    sigset_t none, all;
    sigemptyset(&none), sigfillset(&all), came = 0;
    sigprocmask(SIG_BLOCK, &all, 0);
    struct sigaction action = {.sa_handler = tells_what_waits, .sa_mask = all};
    sigaction(SIGALRM, &action, 0);
    on(SIGHUP, SIG_IGN, 0), on(SIGTERM, SIG_IGN, 0);
    raise(SIGHUP), raise(SIGURG), raise(SIGTERM);
    if (way) raise(SIGALRM);
    sigprocmask(SIG_SETMASK, &none, 0);
    sigprocmask(SIG_SETMASK, &all, 0);
    return came * 2 + !waiting();
}
long masks(long n) {
    quiet();
    on(SIGUSR1, note, 0), on(SIGUSR2, note, 0);
    sigset_t set, old, pending;
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR2), raise(SIGUSR1), raise(SIGUSR1);
    if (count) return 1;
    sigpending(&pending);
    if (!sigismember(&pending, SIGUSR1) || !sigismember(&pending, SIGUSR2) || sigismember(&pending, SIGTERM)) return 2;
    int first = 0;
    if (sigwait(&set, &first) || first != SIGUSR1) return 3;
    struct timespec no = {0, 1000};
    siginfo_t info;
    if (sigtimedwait(&set, &info, &no) != SIGUSR2 || info.si_signo != SIGUSR2 || info.si_pid != getpid()) return 4;
    if (sigtimedwait(&set, &info, &no) != -1 || errno != EAGAIN) return 5;
    raise(SIGUSR1);
    if (count) return 6;
    sigset_t empty; sigemptyset(&empty);
    if (sigsuspend(&empty) != -1 || errno != EINTR || count != 1 || got != SIGUSR1) return 7;
    if (!blocks(SIGUSR1)) return 8;
    raise(SIGUSR2);
    sigprocmask(SIG_SETMASK, &old, 0);
    if (count != 2 || got != SIGUSR2) return 9;
    sigaddset(&set, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (int i = 0; i < 3; i++) { union sigval v = {.sival_int = i}; if (sigqueue(getpid(), SIGRTMIN + 1, v)) return 10; }
    for (int i = 0; i < 3; i++) if (sigwaitinfo(&set, &info) != SIGRTMIN + 1 || info.si_value.sival_int != i || info.si_code != SI_QUEUE) return 11;
    return quiet();
}

static volatile int order[8], depth;
static void nests(int signal) { order[depth++] = signal; if (depth < 4) raise(depth & 1 ? SIGUSR2 : SIGUSR1); order[depth++ & 7] = -signal; }
long nested(long nodefer) {
    quiet(); depth = 0;
    on(SIGUSR1, nests, nodefer ? SA_NODEFER : 0), on(SIGUSR2, nests, nodefer ? SA_NODEFER : 0);
    raise(SIGUSR1);
    long sum = 0;
    for (int i = 0; i < 8; i++) sum = sum * 100 + (order[i] < 0 ? 50 - order[i] : order[i]);
    return depth * 1000 + count;
}

long once(long n) { quiet(); on(SIGUSR1, note, SA_RESETHAND); raise(SIGUSR1); struct sigaction now; sigaction(SIGUSR1, 0, &now); return now.sa_handler == SIG_DFL && now.sa_flags & SA_RESETHAND && count == 1; }

FAR static void deeper(long n) { volatile char room[64]; room[n & 63] = 1; if (n) deeper(n - 1); else raise(SIGUSR1); room[0] = 2; }
long jumps(long times) {
    quiet();
    on(SIGUSR1, leave, 0);
    for (volatile long i = 0; i < times; i++) {
        int value = sigsetjmp(place, 1);
        if (!value) { deeper(i % 30); return -1; }
        if (value != SIGUSR1 || blocks(SIGUSR1)) return -2;
    }
    return count;
}

/* A signal that waits for the mask that a jump brings back: there is one handler at a time, however many follow each other. */
static volatile long last;
static void leaves_with_one_waiting(int signal) { if (++count < last) raise(signal); siglongjmp(place, signal); }
long jumps_with_one_waiting(long times) {
    quiet();
    last = times;
    on(SIGUSR1, leaves_with_one_waiting, 0);
    if (!sigsetjmp(place, 1)) raise(SIGUSR1);
    return blocks(SIGUSR1) ? -1 : count;
}
/* Only what has saved a mask brings one back. */
long jumps_with_a_mask(long saves) {
    quiet();
    on(SIGUSR1, leave, 0);
    if (!sigsetjmp(place, saves)) raise(SIGUSR1);
    long blocked = blocks(SIGUSR1);
    quiet();
    return blocked;
}

long aborts(long catches) {
    quiet();
    on(SIGABRT, catches ? leave : note, 0);
    if (sigsetjmp(place, 1)) return 77;
    abort();
}

static char *volatile nowhere = (char *)0x9000;
FAR static long load(char *at) { return *(volatile char *)at; }
FAR static long divide(long a, long b) { return a / b; }
long faults(long times) {
    quiet();
    on_told(SIGSEGV, tell, 0);
    on(SIGSEGV, leave, 0), on(SIGFPE, leave, 0), on(SIGILL, leave, 0);
    for (volatile long i = 0; i < times; i++) {
        if (sigsetjmp(place, 1) == 0) { load(nowhere); return -1; }
        if (sigsetjmp(place, 1) == 0) { got = divide(i, 0 * count); return -2; }
        if (sigsetjmp(place, 1) == 0) { __builtin_trap(); return -3; }
        if (blocks(SIGSEGV) || blocks(SIGFPE) || blocks(SIGILL)) return -4;
    }
    return count;
}

static char *page;
static void opens(int signal, siginfo_t *info, void *context) { tell(signal, info, context); mprotect(page, 4096, PROT_READ | PROT_WRITE); }
long barriers(long times) {
    quiet();
    on_told(SIGSEGV, opens, 0);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (volatile long i = 0; i < times; i++) {
        mprotect(page, 4096, PROT_NONE);
        ++*(volatile char *)(page + 8);
        if (count != i + 1) return -10 - count;
        if (got != SIGSEGV || code != SEGV_ACCERR || address != (uintptr_t)page + 8) return -1000 * code - (address != (uintptr_t)page + 8);
    }
    return page[8];
}

/* Every register is what it was, whatever the handler does: the sum of the differences. */
static void wild(int signal, siginfo_t *info, void *context) {
    count++;
    ucontext_t *c = context;
    c->uc_mcontext.gregs[REG_RSP] = c->uc_mcontext.gregs[REG_CSGSFS] = c->uc_mcontext.gregs[REG_CR2] = 0x5a5a5a5a5a5aUL;
    __asm__ volatile("pcmpeqb %%xmm0,%%xmm0; movaps %%xmm0,%%xmm7; movaps %%xmm0,%%xmm15" ::: "xmm0", "xmm7", "xmm15", "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r12", "r13", "r14", "r15");
    if (signal == SIGSEGV) mprotect(page, 4096, PROT_READ | PROT_WRITE);
}
#define CHECK(what) \
    long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6; double x = 1.5, y = 2.5; \
    __asm__ volatile("mov %[p],%%rdi; " what \
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+x"(x), "+x"(y), "+r"(f) : [p] "r"(page) : "rdi", "rax", "rsi", "rdx", "rcx", "r11", "memory", "cc"); \
    return a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && x == 1.5 && y == 2.5;
FAR static long at_instruction(void) { CHECK("movq $1,(%%rdi)") }
FAR static long at_call(void) { CHECK("xor %%edi,%%edi; mov $10,%%esi; mov $62,%%eax; syscall") }
long registers(long times) {
    quiet();
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    on_told(SIGSEGV, wild, 0), on_told(SIGUSR1, wild, 0);
    long good = 0;
    for (volatile long i = 0; i < times; i++) { mprotect(page, 4096, PROT_NONE); good += at_instruction() + at_call(); }
    return good == 2 * times && count == 2 * times;
}

/* Deep stacks: locals above and the red zone below survive. */
FAR static long leaf(volatile long *p) { long own[14]; for (int i = 0; i < 14; i++) own[i] = i + *p; long sum = 0; for (int i = 0; i < 14; i++) { sum += own[i]; __asm__ volatile("" : "+m"(own)); } return sum; }
long red_zones(long times) {
    quiet();
    on_told(SIGSEGV, opens, 0);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (volatile long i = 0; i < times; i++) { mprotect(page, 4096, PROT_NONE); if (leaf((long *)page) != 91) return -1; }
    return count;
}

/* What was in vectors lies on the stack, where a collector looks: in registers alone, and in the upper half of one. */
#define LOW 0x1122334455667788UL
#define HIGH 0x99aabbccddeeff01UL
static volatile int in_place, low_seen, high_seen;
static void looks(int signal, siginfo_t *info, void *context) {
    mcontext_t *c = &((ucontext_t *)context)->uc_mcontext;
    in_place = *(uint64_t *)&c->fpregs->_xmm[5] == LOW;
    for (volatile uint64_t *p = (uint64_t *)info; p < (uint64_t *)c->gregs[REG_RSP]; p++) low_seen += *p == LOW, high_seen += *p == HIGH;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}
long vectors(long n) {
    quiet(), in_place = low_seen = high_seen = 0;
    on_told(SIGSEGV, looks, 0);
    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long low = LOW, high = HIGH;
    __asm__ volatile("vmovq %0,%%xmm5; vmovq %1,%%xmm6; vperm2f128 $8,%%ymm6,%%ymm6,%%ymm6; xor %k0,%k0; xor %k1,%k1; movb $1,(%2); vzeroupper"
        : "+r"(low), "+r"(high) : "r"(page) : "xmm5", "xmm6", "memory");
    return in_place && low_seen == 1 && high_seen == 1;
}

/* What comes by itself: timers, and other threads. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/time.h>
#include <time.h>
static void every(long microseconds) { struct itimerval t = {{0, microseconds}, {0, microseconds}}; setitimer(ITIMER_REAL, &t, 0); }
static void after(long microseconds) { struct itimerval t = {{0, 0}, {0, microseconds}}; setitimer(ITIMER_REAL, &t, 0); }
long spins(long n) { quiet(); on(SIGALRM, note, 0); every(1000); while (count < n) ; every(0); return got == SIGALRM; }
long waits(long n) {
    quiet(); on(SIGALRM, note, 0);
    struct timespec long_time = {100, 0}, left = {0, 0};
    after(5000); if (nanosleep(&long_time, &left) != -1 || errno != EINTR || left.tv_sec < 90 || count != 1) return 1;
    after(5000); if (pause() != -1 || errno != EINTR || count != 2) return 2;
    after(5000); if (syscall(SYS_futex, &count, 0, 2, 0) != -1 || errno != EINTR || count != 3) return 3;
    on(SIGALRM, note, SA_RESTART);
    after(5000); if (syscall(SYS_futex, &count, 0, 3, 0) != -1 || errno != EAGAIN || count != 4) return 4;
    sigset_t set; sigemptyset(&set), sigaddset(&set, SIGALRM), sigprocmask(SIG_BLOCK, &set, 0);
    int found = 0; after(5000); if (sigwait(&set, &found) || found != SIGALRM || count != 4) return 5;
    struct itimerval now; after(900000), getitimer(ITIMER_REAL, &now); if (!now.it_value.tv_usec || now.it_interval.tv_usec) return 6;
    if (alarm(100) != 1 || alarm(0) != 100) return 7;
    sigprocmask(SIG_UNBLOCK, &set, 0);
    timer_t timer; struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2, .sigev_value = {.sival_int = 77}};
    struct itimerspec spec = {{0, 0}, {0, 5000000}};
    sigemptyset(&set), sigaddset(&set, SIGUSR2), sigprocmask(SIG_BLOCK, &set, 0);
    siginfo_t info;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &spec, 0)) return 8;
    if (sigwaitinfo(&set, &info) != SIGUSR2 || info.si_code != SI_TIMER || info.si_value.sival_int != 77) return 9;
    return timer_delete(timer) || !timer_delete(timer) ? 10 : quiet();
}
/* Timers of CPU time: they rest while the thread sleeps, and come after as much work as they say, and no earlier. (Linux counts some by ticks, and may.) */
static long ran(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000 + t.tv_nsec / 1000; }
long uses_time(long rounds) {
    static const struct { int timer, signal; } each[] = {{ITIMER_VIRTUAL, SIGVTALRM}, {ITIMER_PROF, SIGPROF}};
    for (int i = 0; i < 2; i++) {
        quiet(), on(each[i].signal, note, 0);
        struct itimerval t = {{0, 30000}, {0, 30000}}, none = {0}, now;
        long start = ran();
        setitimer(each[i].timer, &t, 0);
        usleep(100000);
        if (count) return 1;
        for (long round = 1; round <= rounds; round++) {
            while (count < round) ;
            if (got != each[i].signal || ran() - start < 30000 * round) return 2;
        }
        getitimer(each[i].timer, &now);
        if (now.it_interval.tv_usec != 30000 || !now.it_value.tv_usec || now.it_value.tv_usec > 30000) return 3;
        setitimer(each[i].timer, &none, &now);
        int before = count;
        if (now.it_interval.tv_usec != 30000) return 4;
        for (start = ran(); ran() - start < 60000; ) ;
        if (count != before) return 5;
    }
    return quiet();
}
static volatile int of_all;
static void note_all(int signal) { of_all++; }
static void *uses_up(void *microseconds) { for (long start = ran(); ran() - start < (long)microseconds; ) ; return 0; }
long threads_use_time(long n) {
    quiet(), of_all = 0, on(SIGUSR1, note, 0), on(SIGUSR2, note_all, 0);
    timer_t own, all;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec spec = {{0, 0}, {0, 40000000}}, now;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &own)) return 1;
    event.sigev_signo = SIGUSR2;
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &all)) return 2;
    if (timer_settime(own, 0, &spec, 0) || timer_settime(all, 0, &spec, 0)) return 3;
    pthread_t thread;
    if (pthread_create(&thread, 0, uses_up, (void *)200000L) || pthread_join(thread, 0)) return 4;
    if (count || of_all != 1) return 5;
    if (timer_gettime(all, &now) || now.it_value.tv_nsec || timer_gettime(own, &now) || !now.it_value.tv_nsec) return 6;
    long until = ran() + 30000;
    spec.it_value.tv_sec = until / 1000000, spec.it_value.tv_nsec = until % 1000000 * 1000;
    if (timer_settime(own, TIMER_ABSTIME, &spec, 0)) return 7;
    while (!count) ;
    return ran() < until || of_all != 1 || timer_delete(own) || timer_delete(all) ? 8 : quiet();
}
/* A wait ends in time, however often handlers have it begin again. */
long times_out(long n) {
    quiet(), on(SIGALRM, note, SA_RESTART), every(5000);
    sem_t never; sem_init(&never, 0, 0);
    struct timespec at; clock_gettime(CLOCK_REALTIME, &at), at.tv_sec++;
    while (sem_timedwait(&never, &at) && errno == EINTR) ;
    every(0);
    return errno == ETIMEDOUT ? count : -1;
}
static volatile int ready, done; static volatile pthread_t in;
static void marks(int signal) { in = pthread_self(), done = 1; }
static void *spinner(void *how) {
    sigset_t set, none;
    sigemptyset(&none), sigemptyset(&set), sigaddset(&set, SIGUSR2);
    if (how) pthread_sigmask(SIG_BLOCK, &set, 0);
    ready = 1;
    if (how) while (!done) sigsuspend(&none); else while (!done) ;
    return 0;
}
long other_threads(long n) {
    quiet(); on(SIGUSR2, marks, 0);
    for (long i = 0; i < n; i++) {
        pthread_t thread; done = ready = 0;
        if (pthread_create(&thread, 0, spinner, (void *)(i & 1))) return -1;
        while (!ready) ;
        if (pthread_kill(thread, SIGUSR2)) return -2;
        pthread_join(thread, 0);
        if (in != thread) return -3;
        if (pthread_kill(pthread_self(), 0)) return -4;
    }
    return n;
}
/* Work of all kinds under a storm of signals: frames of all kinds, jumps, contexts, system calls. */
static long sums(long n) { volatile char room[n * 16 % 200 + 1]; room[0] = n; return n ? sums(n - 1) + room[0] : 0; }
static ucontext_t here, there; static char stack[65536];
static void other(void) { for (;;) { sums(20); swapcontext(&there, &here); } }
static jmp_buf back;
FAR static void throws(long n) { if (n) throws(n - 1); else longjmp(back, 3); __asm__ volatile(""); }
long works(long n) {
    getcontext(&there), there.uc_stack.ss_sp = stack, there.uc_stack.ss_size = 1 << 20, makecontext(&there, other, 0);
    long sum = 0;
    for (volatile long i = 0; i < n; i++) {
        sum += sums(30);
        if (!setjmp(back)) throws(10);
        swapcontext(&here, &there);
        sum += getppid() + divide(1000 + i, 7);
        char text[64] = {0}; strcpy(text, "a string that is longer than it would have to be"); sum += strlen(text);
    }
    return sum;
}
static volatile long calls;
static void works_too(int signal, siginfo_t *info, void *context) { calls++; volatile char room[calls % 900 + 1]; room[0] = 1; sums(5); __asm__ volatile("pcmpeqb %%xmm3,%%xmm3" ::: "xmm3"); }
long storm(long n) {
    quiet(); calls = 0;
    long expected = works(n);
    on_told(SIGALRM, works_too, 0);
    every(50);
    long found = works(n);
    while (calls < 20) if (works(n) != expected) break;
    every(0);
    return found == expected ? calls : -1;
}
/* What lies below rsp, where a function that calls nothing has its variables. */
FAR static long keeps_below(void) {
    volatile long room[14];
    for (long i = 0; i < 14; i++) room[i] = i ^ 0x5a;
    for (long before = count; count == before;) ;
    long right = 0;
    for (long i = 0; i < 14; i++) right += room[i] == (i ^ 0x5a);
    return right;
}
long has_variables_below(long n) { quiet(), on(SIGALRM, note, 0), every(1000), n = keeps_below(), every(0); return n; }
static void for_ever(int signal) { for (;;) ; }
long limits_in_handlers(long n) { quiet(); on(SIGALRM, for_ever, 0); after(1000); for (;;) ; }
static void jumps_out(int signal) { siglongjmp(place, 1); }
long jumps_from_anywhere(long n) {
    quiet(); on(SIGALRM, jumps_out, 0);
    volatile long i = 0;
    if (sigsetjmp(place, 1)) i++;
    if (i >= n) { every(0); return i; }
    after(200);
    for (;;) { sums(20); if (!setjmp(back)) throws(10); getppid(); divide(i, 7); }
}

/* Frames of variable size, opened all the time. */
FAR static void allocates(long n) { for (long i = 0; i < n; i++) { volatile char room[i * 64 % 8000 + 1]; room[0] = 1; } }
long jumps_out_of_openings(long n) {
    quiet(); on(SIGALRM, jumps_out, 0);
    volatile long i = 0;
    if (sigsetjmp(place, 1)) i++;
    if (i >= n) { every(0); return i; }
    after(200);
    for (;;) allocates(1000);
}

/* What there is in vectors behind a call of libc's that a handler has come behind: nothing. */
long vectors_behind(long n) {
    long found;
    quiet(); on(SIGUSR1, note, 0);
    __asm__ volatile(".irp number,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n pcmpeqd %%xmm\\number,%%xmm\\number\n .endr" ::: "memory");
    raise(SIGUSR1);
    __asm__ volatile(".irp number,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n por %%xmm\\number,%%xmm0\n .endr\n"
                     "packssdw %%xmm0,%%xmm0\n packsswb %%xmm0,%%xmm0\n movq %%xmm0,%0" : "=r"(found) :: "xmm0");
    return found ? found : count;
}

/* Attacks. */
long returns_from_nothing(long n) { return syscall(SYS_rt_sigreturn); }
static void twice(int signal) { count++; if (count == 1) siglongjmp(place, 1); }
long returns_after_a_jump(long n) { quiet(); on(SIGUSR1, twice, 0); if (!sigsetjmp(place, 1)) raise(SIGUSR1); return syscall(SYS_rt_sigreturn); }
static void from_inside(int signal) { host(1); }
long sigreturn_of_an_outer_call(long n) { quiet(); on(SIGUSR1, from_inside, 0); raise(SIGUSR1); return 5; }
long inner(long n) { return syscall(SYS_rt_sigreturn); }
static void ends_in_host(int signal) { host(2); }
long call_ends_in_a_handler(long n) { quiet(); on(SIGUSR1, ends_in_host, 0); raise(SIGUSR1); return 6; }
static void traps(int signal) { __builtin_trap(); }
static void raises_another(int signal) { raise(SIGUSR2); }
long call_ends_in_a_nested_handler(long n) { quiet(), on(SIGUSR1, raises_another, 0), on(SIGUSR2, traps, 0), on(SIGILL, SIG_DFL, 0); raise(SIGUSR1); return 6; }
long is_free(long n) { return !blocks(SIGUSR1) && !blocks(SIGUSR2); }
long no_label(long at) { quiet(); on(SIGUSR1, (void (*)(int))at, 0); raise(SIGUSR1); return 7; }
static void faults_again(int signal) { count++; load(nowhere); }
long fault_in_a_handler(long n) { quiet(); on(SIGSEGV, faults_again, 0); load(nowhere); return 8; }
long default_again(long n) { on(SIGSEGV, SIG_DFL, 0); load(nowhere); return 9; }
static void endless(int signal) { count++; }
long fault_for_ever(long n) { quiet(); on(SIGSEGV, endless, 0); load(nowhere); return 10; }
static void recurses(int signal) { count++; raise(SIGUSR1); }
long too_many(long n) { quiet(); on(SIGUSR1, recurses, SA_NODEFER); raise(SIGUSR1); return 11; }
FAR static long overflows(volatile long n) { volatile char room[4096]; room[n & 4095] = 1; return n ? overflows(n - 1) + room[0] : 0; }
long stack_overflow(long n) { quiet(); on(SIGSEGV, leave, 0); if (sigsetjmp(place, 1)) return 12; return overflows(1 << 20); }
static void elsewhere(void) { syscall(SYS_rt_sigreturn); }
static void switches(int signal) {
    getcontext(&there), there.uc_stack.ss_sp = stack, there.uc_stack.ss_size = 1 << 20, makecontext(&there, elsewhere, 0);
    swapcontext(&here, &there);
}
long returns_on_another_stack(long n) { quiet(); on(SIGUSR1, switches, 0); raise(SIGUSR1); return 13; }
static void *cancelled(void *how) { ready = 1; if (how) for (;;) pause(); sigset_t none; sigemptyset(&none); for (;;) sigsuspend(&none); }
long cancels(long n) {
    for (long i = 0; i < n; i++) {
        pthread_t thread; void *result = 0; ready = 0;
        if (pthread_create(&thread, 0, cancelled, (void *)(i & 1))) return -1;
        while (!ready) ;
        if (pthread_cancel(thread) || pthread_join(thread, &result) || result != PTHREAD_CANCELED) return -2;
    }
    return n;
}
static volatile long cleaned;
static void cleans(void *by) { cleaned += (long)by; }
static void *computes(void *how) {
    int was;
    pthread_cleanup_push(cleans, (void *)1);
    pthread_cleanup_push(cleans, (void *)10);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
    ready = 1;
    for (volatile double x = 1;; x *= 1.1) ;
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return 0;
}
long cancels_anywhere(long n) {
    for (long i = 0; i < n; i++) {
        pthread_t thread; void *result = 0; ready = 0, cleaned = 0;
        if (pthread_create(&thread, 0, computes, 0)) return -1;
        while (!ready) ;
        if (pthread_cancel(thread) || pthread_join(thread, &result) || result != PTHREAD_CANCELED) return -2;
        if (cleaned != 11) return -3;
    }
    return n;
}
long place_of(long n) { return (long)&raises; }

/* What a handler changes in its context. */
static long good;
static volatile uintptr_t goes_to, with_stack;
static void changes(int signal, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    count++;
    if (goes_to) registers[REG_RIP] = goes_to; else registers[REG_RSI] = (uintptr_t)&good;
    if (with_stack) registers[REG_RSP] = with_stack;
}
FAR static long escaped(void) { return 99; }
FAR static long loads(void) { long value; __asm__ volatile("mov $0x9000,%%esi; mov (%%rsi),%0" : "=r"(value) :: "rsi"); return value; }
FAR static long framed(long n) { volatile char room[200]; room[n] = 1; return load(nowhere) + room[n]; }
FAR static long outer(void) { volatile char here = 1; with_stack = (uintptr_t)&here; return framed(1) + 1000; }
FAR static long calls_nothing(void) { return ((long (*)(void))nowhere)() + 1; }
FAR static long copies(char *from, long n) { long to; char *at = (char *)&to; __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) :: "memory"); return to; }
static void set_up(long to) { quiet(), with_stack = 0, goes_to = to, on_told(SIGSEGV, changes, 0); }
long changes_a_register(long n) { set_up(0), good = 4711; return loads() == 4711 ? count : -1; }
long goes_elsewhere(long to) {
    set_up((long)escaped);
    if (load(nowhere) != 99 || framed(1) != 100) return 1;
    if (calls_nothing() != 99) return 2; /* the check of the target is its own */
    if (outer() != 99) return 3;
    if (copies(nowhere, 8) != 99) return 5;
    return blocks(SIGSEGV) ? 4 : 0;
}
long goes_to_no_label(long to) { set_up(to); return load(nowhere); }
long goes_beyond(long bits) { set_up((long)escaped), with_stack = (uintptr_t)&bits | bits; return load(nowhere); }
long changes_in_a_unit(long n) { set_up(0); return copies(nowhere, 8); }

/* A handler on a context that is over, whose slot another one has. */
static ucontext_t old, new, between;
static void hides(int signal) { count++, swapcontext(&old, &between); }
static void in_old(void) { raise(SIGUSR1); }
FAR static long digs(long n) { volatile char room[512]; room[n] = 1; return (n ? digs(n - 1) : syscall(SYS_rt_sigreturn)) + room[n]; }
static void in_new(void) { digs(200), swapcontext(&new, &between); }
static void makes(ucontext_t *context, void (*function)(void)) {
    getcontext(context), context->uc_stack.ss_sp = stack, context->uc_stack.ss_size = 1 << 20, makecontext(context, function, 0);
    swapcontext(&between, context);
}
long returns_on_a_stack_that_was_anothers(long n) { quiet(), on(SIGUSR1, hides, 0), makes(&old, in_old), makes(&new, in_new); return 14; }
/* Jumps to functions around the places where the handler's frames ended and where it had interrupted its context, from the innermost on: there, and on
   a stack on which a handler was left by a jump. */
enum { LEVELS = 200 };
static jmp_buf levels[LEVELS];
static volatile long landed, returned, right, shift;
FAR static void climbs(long n, long to) {
    volatile long level = n;
    if (setjmp(levels[n])) { landed = level; return; }
    if (n + 1 < LEVELS) climbs(n + 1, to); else longjmp(levels[to], 1);
    returned++;
}
FAR static void climbs_from(long bytes, long to) { volatile char room[bytes + 1]; room[0] = 1, climbs(0, to), room[bytes] = 1; }
FAR static void jumps_to_all(void) {
    for (long to = LEVELS - 1; to >= 0; to--) landed = -1, returned = 0, climbs_from(shift, to), right += landed == to && returned == to;
}
static void jumps_in_new(void) { jumps_to_all(), swapcontext(&new, &between); }
long jumps_on_a_stack_that_was_anothers(long shifts) {
    on(SIGUSR1, hides, 0), right = 0;
    for (long i = 0; i < shifts; i++) quiet(), shift = 16 * i, makes(&old, in_old), makes(&new, jumps_in_new);
    return right == shifts * LEVELS;
}
long jumps_where_a_handler_was(long shifts) {
    on(SIGUSR1, leave, 0), right = 0;
    for (volatile long i = 0; i < shifts; i++) {
        quiet(), shift = 16 * i;
        if (!sigsetjmp(place, 1)) raise(SIGUSR1);
        jumps_to_all();
    }
    return right == shifts * LEVELS;
}

/* Jumps within a function whose frame is larger than what a handler leaves free below rsp: it is closed on the way. */
FAR static long gotos(long n) {
    static void *volatile table[2];
    volatile char big[100000];
    table[0] = &&even, table[1] = &&odd;
    for (int j = 0; j < sizeof big; j++) big[j] = j * 7;
    long i = 0;
even: if (++i > n) goto out; goto *table[i & 1];
odd: if (++i > n) goto out; goto *table[i & 1];
out: for (int j = 0; j < sizeof big; j++) if (big[j] != (char)(j * 7)) return -1;
    return i;
}
long storm_of_gotos(long n) {
    quiet(), calls = 0, on_told(SIGALRM, works_too, 0), every(300);
    long found;
    do found = gotos(100000); while (found > 0 && calls < n);
    every(0);
    return found > 0 ? calls : found;
}

/* Of so many signals of timers, how late the latest comes to a loop without calls, in microseconds for which this thread has run. */
static volatile long began;
static void begins(int signal) { began = ran(); }
long delay(long signals) {
    quiet(), on(SIGALRM, begins, 0);
    long most = 0;
    for (long i = 0; i < signals; i++) {
        began = 0;
        long due = ran() + 2000;
        after(2000);
        while (!began) ;
        if (began - due > most) most = began - due;
    }
    return most;
}

/* Of so many signals of timers of CPU time, how early after its time the earliest comes. (What looks at them sleeps again before each.) */
long delay_of_time(long signals) {
    quiet(), on(SIGPROF, begins, 0);
    long least = 1000000;
    for (long i = 0; i < signals; i++) {
        struct itimerval t = {{0, 0}, {0, 2000}};
        usleep(60000), began = 0;
        long due = ran() + 2000;
        setitimer(ITIMER_PROF, &t, 0);
        while (!began) ;
        if (began - due < least) least = began - due;
    }
    return least;
}

/* One signal for whichever thread lets it in: not this one. The other is in a loop without calls. */
long leaves_a_signal(long n) {
    quiet(), on(SIGUSR1, note, 0);
    sigset_t set; sigemptyset(&set), sigaddset(&set, SIGUSR1);
    return sigprocmask(SIG_BLOCK, &set, 0) || kill(getpid(), SIGUSR1) ? -1 : count;
}
long finds_a_signal(long n) { while (!count) ; return got; }

static void stays(int signal) { host(3); for (;;) ; }
long stays_in_a_handler(long n) { quiet(), on(SIGUSR1, stays, 0), raise(SIGUSR1); return 15; }
long is_default(long n) { struct sigaction now; sigaction(SIGUSR1, 0, &now); return now.sa_handler == SIG_DFL && !blocks(SIGUSR1); }

/* Jumps while a handler waits on another context. */
static void waits_there(int signal) { swapcontext(&there, &here); }
static void raises_there(void) { raise(SIGUSR1); swapcontext(&there, &here); }
long jumps_beside_a_handler(long n) {
    quiet(), on(SIGUSR1, waits_there, 0);
    getcontext(&there);
    there.uc_stack.ss_sp = stack, there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, raises_there, 0);
    swapcontext(&here, &there);
    static jmp_buf back;
    volatile long jumps = 0;
    while (jumps < n) if (!setjmp(back)) { jumps++; longjmp(back, 1); }
    return swapcontext(&here, &there) ? -1 : jumps;
}

/* Overflows that the module catches itself: they come at the same place each time, and the handler has the room that it has asked for. */
static char *deepest;
static void catches(int signal) {
    char room[4096];
    memset(room, signal, sizeof room);
    count += room[count % sizeof room] == SIGSEGV;
    deepest = room;
    siglongjmp(place, signal);
}
static long has_stack(void *at, long size) { stack_t new = {.ss_sp = at, .ss_size = size}; return sigaltstack(&new, 0); }
FAR long catches_overflows(long n) {
    quiet();
    if (has_stack(stack, 16384)) return -1;
    on(SIGSEGV, catches, SA_ONSTACK);
    char *first = 0;
    for (volatile long i = 0; i < n; i++) {
        if (!sigsetjmp(place, 1)) return overflows(1 << 30);
        if (!first) first = deepest;
        if (deepest != first) return -2;
    }
    return blocks(SIGSEGV) ? -3 : count;
}
long catches_once_more(long n) { quiet(), on(SIGSEGV, catches, SA_ONSTACK); return sigsetjmp(place, 1) ? count : overflows(1 << 30); }
long catches_with_a_forged_stack(long n) {
    long found = 0;
    uintptr_t at[] = {0, 8, (uintptr_t)-4096, (uintptr_t)&found, (uintptr_t)catches, 0x7fff00000000, (uintptr_t)host};
    for (int i = 0; i < 7; i++) {
        quiet();
        if (has_stack((void *)at[i], i % 2 ? 16384 : INTPTR_MAX)) return -1;
        on(SIGSEGV, catches, SA_ONSTACK);
        if (!sigsetjmp(place, 1)) return overflows(1 << 30);
        found += count;
    }
    return found;
}
static void raises_and_catches(int signal) { raise(SIGUSR1); catches(signal); }
long handles_in_an_overflow(long n) {
    quiet(), has_stack(stack, 65536), on(SIGUSR1, note, SA_ONSTACK), on(SIGSEGV, raises_and_catches, SA_ONSTACK);
    return sigsetjmp(place, 1) ? count : overflows(1 << 30);
}
static void overflows_again(int signal) { count++; overflows(1 << 30); }
long overflows_in_the_handler(long n) {
    quiet(), has_stack(stack, sizeof stack), on(SIGSEGV, overflows_again, SA_ONSTACK | (n ? SA_NODEFER : 0));
    return overflows(1 << 30);
}
long returns_to_an_overflow(long n) { quiet(), has_stack(stack, sizeof stack), on(SIGSEGV, note, SA_ONSTACK); return overflows(1 << 30); }
long overflows_without(long n) {
    quiet(), has_stack(stack, sizeof stack), on(SIGSEGV, leave, n ? SA_ONSTACK : 0);
    stack_t none = {.ss_flags = SS_DISABLE};
    if (n) sigaltstack(&none, 0);
    return sigsetjmp(place, 1) ? 12 : overflows(1 << 30);
}
static void *catches_in_a_thread(void *n) { return (void *)catches_overflows((long)n); }
long threads_catch(long n) {
    pthread_t thread; void *found;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread, 0, catches_in_a_thread, (void *)n) || pthread_join(thread, &found) || (long)found != n) return -1 - (long)found;
    return n;
}
static void calls_in_an_overflow(int signal) { count += host(1); catches(signal); }
long calls_the_host_in_an_overflow(long n) {
    quiet(), has_stack(stack, 65536), on(SIGSEGV, calls_in_an_overflow, SA_ONSTACK);
    return sigsetjmp(place, 1) ? count : overflows(1 << 30);
}
/* Deep in a stack whose end is to be kept: what lies there stays. */
FAR static long keeps_deep(long depth) {
    volatile char room[256];
    room[depth % 256] = depth;
    if (!depth) return has_stack(stack, INTPTR_MAX);
    long found = keeps_deep(depth - 1);
    return found + (room[depth % 256] != (char)depth);
}
long keeps_what_is_in_use(long n) {
    stack_t none = {.ss_flags = SS_DISABLE};
    long changed = sigaltstack(&none, 0) ? -1 : keeps_deep(n);
    return changed ? -changed : catches_overflows(3);
}
/* An end of the stack that is kept at any time, by whoever interrupts what uses it. */
static void keeps(int signal) { has_stack(stack, count++ % 3 * 30000 + 4096); }
long keeps_at_any_time(long n) {
    quiet(), on(SIGALRM, keeps, 0), on(SIGSEGV, leave, SA_ONSTACK), every(50);
    volatile long caught = 0;
    while (caught < n) { if (sigsetjmp(place, 1)) caught++; else overflows(1 << 30); }
    every(0);
    return caught;
}

/* What a handler that is left has opened is closed at once, wherever the program goes on, and whatever lies there. */
static sigjmp_buf *innermost;
static void catches_innermost(int signal) { count++; siglongjmp(*innermost, 1); }
#define CATCHES_AT(name, bytes, opens)                                                    \
    FAR static long name(long n) {                                                        \
        sigjmp_buf own, *before = innermost;                                              \
        volatile char room[bytes];                                                        \
        room[0] = room[bytes - 1] = n;                                                    \
        volatile long found = 0;                                                          \
        if (!sigsetjmp(own, 0)) { innermost = &own; opens; found = name(n + 1); }         \
        innermost = before;                                                               \
        return found + (room[0] != (char)n || room[bytes - 1] != (char)n);                \
    }
CATCHES_AT(small_frames, 8,)
CATCHES_AT(middle_frames, 1000,)
CATCHES_AT(large_frames, 20000,)
CATCHES_AT(variable_frames, 100, volatile char more[n % 7 * 50 + 8]; more[0] = n)
long catches_at_each_level(long n) {
    quiet(), has_stack(stack, 16384), on(SIGSEGV, catches_innermost, SA_ONSTACK | SA_NODEFER);
    long wrong = 0;
    for (int i = 0; i < 4; i++)
        wrong += n == 0 ? small_frames(0) : n == 1 ? middle_frames(0) : n == 2 ? large_frames(0) : variable_frames(0);
    return wrong ? -wrong : count;
}
/* A page that is opened when it is touched, `n` frames deep. */
static volatile char *lazy;
static volatile long opened;
static void opens_page(int signal, siginfo_t *what, void *context) {
    if (what->si_addr != lazy + 5) siglongjmp(place, 1);
    opened++, mprotect((void *)lazy, 4096, PROT_READ | PROT_WRITE);
}
FAR static long touches(long depth) {
    volatile char room[500];
    room[499] = depth;
    if (depth) return touches(depth - 1) + (room[499] != (char)depth);
    lazy[5] = 1;
    return 0;
}
long opens_deep_down(long n) {
    struct sigaction new = {.sa_sigaction = opens_page, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    if (!lazy) lazy = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    quiet(), opened = 0, has_stack(stack, 16384), sigaction(SIGSEGV, &new, 0);
    mprotect((void *)lazy, 4096, PROT_NONE);
    long found = sigsetjmp(place, 1) ? 1000 : touches(n);
    mprotect((void *)lazy, 4096, PROT_READ | PROT_WRITE);
    return found + opened;
}
long keeps_nothing(long n) { return 0; }
long overflows_plainly(long n) { return sigsetjmp(place, 1) ? 7 : overflows(1 << 30); }
/* Asked for where it is in use; then the host calls something else of the domain's. */
long asks_deep_down(long n) {
    stack_t none = {.ss_flags = SS_DISABLE};
    quiet(), on(SIGSEGV, leave, SA_ONSTACK), sigaltstack(&none, 0);
    return keeps_deep(3000) + host(4);
}
/* A handler in what was kept, or with a frame that reaches into it, is jumped back to: it has its frame, and its room. */
static sigjmp_buf in_the_handler;
static void jumps_back(int signal) { siglongjmp(in_the_handler, 1); }
FAR static long uses(long n) { volatile char room[40000]; room[0] = room[39999] = n; return room[0]; }
static void straddles(int signal) {
    volatile char room[30000];
    room[0] = room[15000] = room[29999] = 1;
    count++;
    if (count < 3 && !sigsetjmp(in_the_handler, 1)) raise(SIGUSR1);
    for (int i = 0; i < 30000; i += 500) room[i] += uses(i);
    siglongjmp(place, 1);
}
FAR static long sinks_to(volatile long left) {
    volatile char room[1900];
    room[0] = 1;
    return left <= 0 ? *(volatile long *)16 : sinks_to(left - 1) + room[0];
}
long jumps_back_to_its_handler(long n) {
    quiet(), has_stack(stack, 65536), on(SIGUSR1, jumps_back, 0), on(SIGSEGV, straddles, SA_ONSTACK | SA_NODEFER);
    return sigsetjmp(place, 1) ? count : sinks_to(n);
}

/* An error, unless it changes something. */
long keeps_room(long n) {
    stack_t before, now;
    sigaltstack(0, &before);
    errno = 0;
    long error = has_stack(stack, n) ? errno : 0;
    sigaltstack(0, &now);
    return error && memcmp(&before, &now, sizeof now) ? -1 : error;
}

long alternates(long n) {
    stack_t new = {.ss_sp = stack, .ss_size = sizeof stack}, before = {0};
    if (sigaltstack(0, &before) || before.ss_flags != SS_DISABLE) return 1;
    if (sigaltstack(&new, 0) || sigaltstack(0, &before) || before.ss_sp != stack || before.ss_size != sizeof stack || before.ss_flags) return 2;
    new.ss_size = MINSIGSTKSZ - 1;
    if (!sigaltstack(&new, 0) || errno != ENOMEM) return 3;
    new.ss_size = sizeof stack, new.ss_flags = 77;
    if (!sigaltstack(&new, 0) || errno != EINVAL) return 4;
    quiet(), on(SIGUSR1, note, SA_ONSTACK), raise(SIGUSR1);
    return count == 1 ? 0 : 5;
}
"#;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).gate("long host(long)").module());

/// A handler runs.
static INSIDE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

fn options() -> DomainOptions {
    let host = HostFunction::new(move |domain: &Domain, x: i64| match x {
        1 => domain.bind::<Long>("inner").expect("an export").call(0).map_or(-1_i64, |_| 1),
        4 => domain.bind::<Long>("keeps_nothing").expect("an export").call(0).expect("a call"),
        3 => {
            let (lock, told) = &INSIDE;
            *lock.lock().expect("no panic") = true;
            told.notify_all();
            3
        }
        _ => panic!("the host's function fails"),
    });
    DomainOptions::new().gate("host", host).max_guest_threads(4)
}

fn domain() -> Domain {
    Domain::new(&MODULE, options()).expect("a domain")
}

fn call(domain: &Domain, name: &str, x: i64) -> Result<i64, CallError> {
    domain.bind::<Long>(name).expect("an export").call(x)
}

/// Makes a native program of the source: it calls the function of its first argument with the second, and prints the result.
const NATIVE_MAIN: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
long host(long x) { return x; }
int main(int argc, char **argv) {
    long (*function)(long) = (long (*)(long))dlsym(0, argv[1]);
    return printf("%ld", function(atol(argv[2]))) < 0;
}
"#;

/// The folder of the native program.
struct Native(tempfile::TempDir);

impl Native {
    fn new() -> Native {
        let folder = tempfile::tempdir().expect("a folder");
        let [source, program] = ["native.c", "native"].map(|name| folder.path().join(name));
        std::fs::write(&source, format!("{SOURCE}{NATIVE_MAIN}")).expect("a file");
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-w", "-rdynamic", "-pthread"]).arg(&source).arg("-o").arg(&program).arg("-ldl");
        assert!(gcc.status().expect("gcc runs").success());
        Native(folder)
    }

    /// What it prints.
    fn call(&self, name: &str, x: i64) -> String {
        let mut program = Command::new(self.0.path().join("native"));
        let output = program.args([name, &x.to_string()]).output().expect("it runs");
        String::from_utf8(output.stdout).expect("a number")
    }
}

/// What the tests here expect of a domain is what Linux does, where a native program can do the same. (Not those that have more stack than they say, or
/// change in a context what is ignored here; nor whose result is a time, or depends on the C library's headers.)
#[test]
fn signals_do_what_they_do_natively() {
    let _watchdog = watchdog("signals_do_what_they_do_natively");
    let program = Native::new();
    for (name, argument) in [
        ("raises", 1000),
        ("masks", 0),
        ("in_order", 0),
        ("in_order", 0x1ff),
        ("in_order", 0x0d2),
        ("in_order", 0x135),
        ("takes_back", 0),
        ("takes_back", 1),
        ("ignored_behind", 0),
        ("ignored_behind", 1),
        ("come_together", 0),
        ("come_together", 1),
        ("come_together", 2),
        ("come_together", 3),
        ("come_together", 8),
        ("come_together", 16),
        ("come_together", 17),
        ("come_together", 25),
        ("many_come_together", 0),
        ("many_come_together", 40),
        ("nested", 0),
        ("nested", 1),
        ("once", 0),
        ("jumps", 100),
        ("jumps_with_one_waiting", 1000),
        ("jumps_with_a_mask", 0),
        ("jumps_with_a_mask", 1),
        ("aborts", 1),
        ("catches_overflows", 20),
        ("handles_in_an_overflow", 0),
        ("threads_catch", 3),
        ("faults", 100),
        ("barriers", 100),
        ("red_zones", 100),
        ("vectors", 0),
        ("spins", 20),
        ("waits", 0),
        ("other_threads", 10),
        ("cancels", 10),
        ("cancels_anywhere", 10),
        ("threads_use_time", 0),
        ("jumps_from_anywhere", 50),
        ("jumps_out_of_openings", 50),
        ("changes_a_register", 0),
        ("is_default", 0),
    ] {
        let inside = call(&domain(), name, argument).expect(name);
        assert_eq!(program.call(name, argument), inside.to_string(), "{name}({argument})");
    }
}

#[test]
fn handlers_run_where_a_signal_is_sent() {
    let _watchdog = watchdog("handlers_run_where_a_signal_is_sent");
    let domain = domain();
    for (name, argument, result) in [
        ("raises", 1, 2),
        ("raises", 10_000, 10_001),
        ("masks", 0, 0),
        ("nested", 0, 6000),
        ("nested", 1, 8000),
        ("once", 0, 1),
        ("jumps", 1000, 1000),
        ("jumps_with_one_waiting", 1000, 1000),
        ("aborts", 1, 77),
        ("alternates", 0, 0),
    ] {
        assert_eq!(call(&domain, name, argument).expect(name), result, "{name}({argument})");
    }
    let error = call(&domain, "aborts", 0).expect_err("the handler returns");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Abort);
}

#[test]
fn handlers_run_where_an_instruction_fails() {
    let _watchdog = watchdog("handlers_run_where_an_instruction_fails");
    let domain = domain();
    for (name, argument, result) in
        [("faults", 1, 3), ("faults", 500, 1500), ("barriers", 100, 100), ("red_zones", 100, 100)]
    {
        assert_eq!(call(&domain, name, argument).expect(name), result, "{name}({argument})");
    }
}

#[test]
fn what_was_interrupted_goes_on_as_it_was() {
    let _watchdog = watchdog("what_was_interrupted_goes_on_as_it_was");
    assert_eq!(call(&domain(), "registers", 200).expect("a value"), 1);
    assert_eq!(call(&domain(), "vectors", 0).expect("a value"), 1);
}

/// The C library's system calls keep no vectors: those that a signal has waited for show nothing of the host's in them, either.
#[test]
fn a_call_that_a_handler_comes_behind_leaves_no_vectors() {
    let _watchdog = watchdog("a_call_that_a_handler_comes_behind_leaves_no_vectors");
    assert_eq!(call(&domain(), "vectors_behind", 0).expect("a value"), 1);
}

/// Most jumps leave no handler, and then the runtime makes no system call for them. Red if it holds signals back for each one that is made while a handler
/// is in progress anywhere in the call: a scheduler whose handler of a timer switches contexts spends most of its time there.
#[test]
fn jumps_that_leave_no_handler_make_no_system_calls() {
    let _watchdog = watchdog("jumps_that_leave_no_handler_make_no_system_calls");
    let domain = domain();
    let [few, many] = [10, 1_000].map(|jumps| {
        host_sys::system_calls(libc::SYS_rt_sigprocmask, || {
            assert_eq!(call(&domain, "jumps_beside_a_handler", jumps).expect("jumps"), jumps);
        })
    });
    assert!(few > 0 && many < few + 500, "{few} system calls for 10 jumps, {many} for 1,000");
}

#[test]
fn handlers_run_by_timers_and_in_other_threads() {
    let _watchdog = watchdog("handlers_run_by_timers_and_in_other_threads");
    let domain = domain();
    for (name, argument, result) in [
        ("spins", 20, 1),
        ("waits", 0, 0),
        ("other_threads", 10, 10),
        ("cancels", 10, 10),
        ("cancels_anywhere", 10, 10),
        ("uses_time", 10, 0),
        ("threads_use_time", 0, 0),
    ] {
        assert_eq!(call(&domain, name, argument).expect(name), result, "{name}({argument})");
    }
}

/// With `SA_RESTART` waits begin again, but not with all of their time.
#[test]
fn waits_that_begin_again_end_in_time() {
    let _watchdog = watchdog("waits_that_begin_again_end_in_time");
    assert!(call(&domain(), "times_out", 0).expect("a value") > 0);
}

/// Wherever a handler begins, what it has interrupted goes on, or is left by a jump.
#[test]
fn signals_come_at_any_instruction() {
    let _watchdog = watchdog("signals_come_at_any_instruction");
    let domain = domain();
    assert!(call(&domain, "storm", 300).expect("a value") >= 20);
    assert_eq!(call(&domain, "jumps_from_anywhere", 100).expect("a value"), 100);
}

/// A handler begins below the variables that the interrupted function has below rsp.
#[test]
fn variables_below_rsp_survive() {
    let _watchdog = watchdog("variables_below_rsp_survive");
    assert_eq!(call(&domain(), "has_variables_below", 0).expect("a value"), 14);
}

/// Where a function has closed its frame, which is as large as it likes, all of it lies below rsp.
#[test]
fn frames_that_are_closed_survive() {
    let _watchdog = watchdog("frames_that_are_closed_survive");
    let found = call(&domain(), "storm_of_gotos", 100).expect("a value");
    assert!(found >= 100, "{found}");
}

/// In the middle of what opens a frame nobody can say where its function began.
#[test]
fn handlers_never_begin_in_a_frame_that_opens() {
    let _watchdog = watchdog("handlers_never_begin_in_a_frame_that_opens");
    assert_eq!(call(&domain(), "jumps_out_of_openings", 300).expect("a value"), 300);
}

/// To a loop without calls, 5 ms later than natively at most. What counts is the time that the loop runs, and the best of several windows: others use
/// the processors, too, and the watcher waits for one. However many they are, none comes later than `LATEST`: red if a kick is lost, and the loop
/// goes on until something else happens.
#[test]
fn signals_come_in_time() {
    /// Microseconds.
    const LATEST: i64 = 100_000;
    let _watchdog = watchdog("signals_come_in_time");
    let domain = domain();
    let program = Native::new();
    let sides = (0..5).map(|_| {
        let native: i64 = program.call("delay", 20).parse().expect("a time");
        let inside = call(&domain, "delay", 20).expect("a time");
        assert!(inside < native + LATEST, "{inside} µs late, {native} natively");
        [native, inside]
    });
    let [native, inside] =
        sides.reduce(|least, window| [0, 1].map(|side| least[side].min(window[side]))).expect("windows");
    assert!(inside <= native + 5_000, "{inside} µs late, {native} natively");
}

/// What counts CPU time looks often while a thread runs. Red if it looks as seldom as where none does, on a machine with a processor to spare: among
/// many others the thread has run little when it looks.
#[test]
fn timers_of_cpu_time_come_in_time() {
    let _watchdog = watchdog("timers_of_cpu_time_come_in_time");
    let late = call(&domain(), "delay_of_time", 10).expect("a time");
    assert!((0..10_000).contains(&late), "{late} µs late");
}

/// A signal that came while no thread was in a call that would take it comes to the next one that does, though that makes no system call. Red if the
/// watcher does not look at who has come since.
#[test]
fn signals_wait_for_calls_that_make_no_system_call() {
    let _watchdog = watchdog("signals_wait_for_calls_that_make_no_system_call");
    let domain = Domain::new(&MODULE, options().time_limit(Duration::from_secs(20))).expect("a domain");
    for _ in 0..3 {
        assert_eq!(call(&domain, "leaves_a_signal", 0).expect("a value"), 0);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| call(&domain, "finds_a_signal", 0).expect("in time"));
            assert_eq!(other.join().expect("no panic"), i64::from(libc::SIGUSR1));
        });
    }
}

/// General registers of what was interrupted are a handler's to change, and where it goes on, at a label.
#[test]
fn handlers_change_what_they_have_interrupted() {
    let _watchdog = watchdog("handlers_change_what_they_have_interrupted");
    let domain = domain();
    for (name, result) in [("changes_a_register", 1), ("goes_elsewhere", 0)] {
        assert_eq!(call(&domain, name, 0).expect(name), result, "{name}");
    }
}

/// Nothing else. Red without the comparisons: control goes on behind a check of another target, or in the middle of an instruction, or with
/// the stack of whoever called the domain.
#[test]
fn handlers_change_no_more() {
    let _watchdog = watchdog("handlers_change_no_more");
    let place = call(&domain(), "place_of", 0).expect("a place");
    for (name, argument, reason) in [
        ("goes_to_no_label", place + 4, "label"),
        ("goes_to_no_label", 0x10, "label"),
        ("goes_beyond", 0xff_ffff, "beyond the host"),
        ("goes_beyond", 0xffff_ffff, "another stack"),
        ("changes_in_a_unit", 0, "in the middle of instructions"),
    ] {
        let (kind, said) = refused(name, argument);
        assert_eq!(kind, FaultKind::Gate, "{name}: {said}");
        assert!(said.contains(reason), "{name}: {said}");
    }
}

/// Who is killed in a handler is killed, and a domain that begins anew knows of no handler and no mask.
#[test]
fn kills_and_resets_end_handlers() {
    let _watchdog = watchdog("kills_and_resets_end_handlers");
    let mut domain = domain();
    let stays = domain.bind::<Long>("stays_in_a_handler").expect("an export");
    std::thread::scope(|scope| {
        let call = scope.spawn(move || stays.call(0));
        let (lock, told) = &INSIDE;
        drop(told.wait_while(lock.lock().expect("no panic"), |inside| !*inside).expect("no panic"));
        domain.kill();
        let error = call.join().expect("no panic").expect_err("killed");
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Killed);
    });
    domain.reset().expect("a new beginning");
    assert_eq!(call(&domain, "is_default", 0).expect("a value"), 1);
    assert_eq!(call(&domain, "raises", 3).expect("a value"), 4);
}

/// A handler's time is its call's.
#[test]
fn limits_hold_in_handlers() {
    let _watchdog = watchdog("limits_hold_in_handlers");
    let options = options().time_limit(Duration::from_millis(200));
    let domain = Domain::new(&MODULE, options).expect("a domain");
    for name in ["limits_in_handlers", "fault_for_ever"] {
        let error = call(&domain, name, 0).expect_err("a limit");
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::TimeOut, "{name}");
    }
    assert_eq!(crate::common::in_time(|| call(&domain, "raises", 3)).expect("another call"), 4);
}

fn refused(name: &str, argument: i64) -> (FaultKind, String) {
    let domain = domain();
    let error = call(&domain, name, argument).expect_err(name);
    let fault = error.fault().unwrap_or_else(|| panic!("{name}: {error}"));
    // It is the call that ends: the next one is as good as ever.
    assert_eq!(call(&domain, "raises", 3).expect("another call"), 4, "behind {name}");
    assert_eq!(call(&domain, "faults", 3).expect("another call"), 9, "behind {name}");
    (fault.kind(), fault.reason().to_owned())
}

/// A stack keeps room for handlers of its overflow, on the same stack: so whatever `sigaltstack` was given has no say in where they run.
#[test]
fn modules_catch_their_own_stack_overflows() {
    let _watchdog = watchdog("modules_catch_their_own_stack_overflows");
    let mut domain = domain();
    for (name, argument, expected) in [
        ("catches_overflows", 100, 100),
        ("catches_with_a_forged_stack", 0, 7),
        ("handles_in_an_overflow", 0, 2),
        ("threads_catch", 5, 5),
        ("calls_the_host_in_an_overflow", 0, 0),
        ("keeps_what_is_in_use", 1500, 3),
        ("keeps_what_is_in_use", 3200, 3),
        ("catches_overflows", 3, 3),
    ] {
        assert_eq!(call(&domain, name, argument).expect(name), expected, "{name}");
    }
    for (name, argument) in [
        ("overflows_in_the_handler", 0),
        ("overflows_in_the_handler", 1),
        ("returns_to_an_overflow", 0),
        ("overflows_without", 0),
        ("overflows_without", 1),
    ] {
        let error = call(&domain, name, argument).expect_err(name);
        let kind = error.fault().unwrap_or_else(|| panic!("{name}: {error}")).kind();
        assert!(
            matches!(kind, FaultKind::StackOverflow | FaultKind::ControlStackOverflow),
            "{name}: {error}"
        );
        // What was open is closed, and the next one is caught, at the same place.
        assert_eq!(call(&domain, "catches_overflows", 3).expect(name), 3, "behind {name}");
    }
    call(&domain, "overflows_in_the_handler", 0).expect_err("an overflow");
    assert_eq!(call(&domain, "catches_once_more", 0).expect("its end is kept still"), 1);
    // Where the end is not kept because it is in use, an overflow of it ends the call.
    for _ in 0..20 {
        match call(&domain, "keeps_at_any_time", 10) {
            Ok(caught) => assert_eq!(caught, 10),
            Err(error) => assert!(error.to_string().contains("overflow"), "{error}"),
        }
        assert_eq!(call(&domain, "catches_overflows", 3).expect("another call"), 3);
    }
    domain.reset().expect("nobody is in it");
    assert_eq!(call(&domain, "catches_overflows", 3).expect("a new user"), 3);
}

/// Each overflow is caught, as natively, however near to the end the program goes on behind it. Red if what was opened for the handler stays open
/// because the frames that are gone to reach down to it, or because the handler has returned; or if it is closed over a frame that lies in it.
#[test]
fn modules_catch_each_overflow() {
    let _watchdog = watchdog("modules_catch_each_overflow");
    let domain = domain();
    for frames in 0..4 {
        for _ in 0..3 {
            let caught = call(&domain, "catches_at_each_level", frames);
            assert_eq!(caught.unwrap_or_else(|error| panic!("{frames}: {error}")), 4, "{frames}");
        }
    }
    let [opens, overflows, asks] = ["opens_deep_down", "overflows_plainly", "asks_deep_down"]
        .map(|name| domain.bind::<Long>(name).expect("an export"));
    let opens_at = |depth| {
        let found = opens.call(depth).expect("as natively");
        assert!(found == 1 || found == 1000, "{depth}: {found}");
        assert_eq!(overflows.call(0).expect("as natively"), 7, "behind {depth}");
        found == 1
    };
    let depth = (0..).step_by(10).find(|depth| !opens_at(*depth)).expect("an end");
    assert!((1000..1990).contains(&depth), "{depth}");
    // Down to where what was interrupted reaches into what is kept, which then stays open until the next call.
    assert!((depth - 10..=depth).filter(|depth| !opens_at(*depth)).count() > 0);
    // So does it where it was in use when it was asked for, whatever the host does before the next call.
    for _ in 0..3 {
        assert_eq!(asks.call(0).expect("a call"), 0);
        assert_eq!(overflows.call(0).expect("as natively"), 7);
    }
    for depth in 400..500 {
        let found = call(&domain, "jumps_back_to_its_handler", depth);
        assert_eq!(found.unwrap_or_else(|error| panic!("{depth}: {error}")), 1, "{depth}");
    }
}

/// Who asks for an alternate stack is told if the kernel has no mappings for it, and the domain has what it had before.
#[test]
fn a_stack_that_cannot_be_kept_is_refused() {
    let _watchdog = watchdog("a_stack_that_cannot_be_kept_is_refused");
    std::thread::spawn(|| {
        // Of one that keeps something already it cannot be opened to keep more.
        let domains = [0, 16384].map(|kept| {
            let domain = domain();
            let keeps = domain.bind::<Long>("keeps_room").expect("an export");
            assert!(kept == 0 || keeps.call(kept).expect("a call") == 0);
            (domain, keeps)
        });
        crate::common::host_sys::refuse_system_call(libc::SYS_mprotect);
        for (_, keeps) in &domains {
            assert_eq!(keeps.call(65536).expect("a call"), i64::from(libc::ENOMEM));
        }
    })
    .join()
    .expect("as it should be");
}

/// A module goes on only at what the runtime has kept of this very call, on this very stack.
#[test]
fn nobody_returns_from_what_is_not_in_progress() {
    let _watchdog = watchdog("nobody_returns_from_what_is_not_in_progress");
    for name in [
        "returns_from_nothing",
        "returns_after_a_jump",
        "inner",
        "returns_on_another_stack",
        "returns_on_a_stack_that_was_anothers",
    ] {
        let (kind, reason) = refused(name, 0);
        assert_eq!(kind, FaultKind::Gate, "{name}");
        assert!(reason.contains("rt_sigreturn"), "{name}: {reason}");
    }
    // A call that has ended in a handler leaves nothing that a later one could return to.
    let outer = domain();
    for _ in 0..50 {
        call(&outer, "fault_in_a_handler", 0).expect_err("a fault");
        let error = call(&outer, "returns_from_nothing", 0).expect_err("nothing");
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Gate);
    }
    assert_eq!(call(&outer, "sigreturn_of_an_outer_call", 0).expect("the inner call alone ends"), 5);
}

/// Handlers that are over lie on nothing's way out: those of contexts that are over, and those that a jump has left. Red if only the place on the stack
/// says which they are, or if jumps leave them as they are: a jump comes to a function with the return address of another one.
#[test]
fn jumps_pass_no_handler_that_is_over() {
    let _watchdog = watchdog("jumps_pass_no_handler_that_is_over");
    for name in ["jumps_on_a_stack_that_was_anothers", "jumps_where_a_handler_was"] {
        // (So that a return address lies where the handler's frames ended, for frames of up to 128 bytes.)
        assert_eq!(call(&domain(), name, 8).expect("a value"), 1, "{name}");
    }
}

#[test]
fn handlers_that_cannot_begin_end_the_call() {
    let _watchdog = watchdog("handlers_that_cannot_begin_end_the_call");
    let place = call(&domain(), "place_of", 0).expect("a place");
    for (name, argument, kind) in [
        ("no_label", place + 4, FaultKind::Signal(libc::SIGUSR1 as u8)),
        ("no_label", 0x10, FaultKind::Signal(libc::SIGUSR1 as u8)),
        ("too_many", 0, FaultKind::Signal(libc::SIGUSR1 as u8)),
        ("fault_in_a_handler", 0, FaultKind::Segv),
        ("default_again", 0, FaultKind::Segv),
        ("stack_overflow", 0, FaultKind::StackOverflow),
    ] {
        assert_eq!(refused(name, argument).0, kind, "{name}");
    }
    let domain = domain();
    let error = call(&domain, "call_ends_in_a_handler", 0).expect_err("the host's function fails");
    assert!(error.to_string().contains("a host function"), "{error}");
    // What the handler blocks is blocked no more.
    assert_eq!(call(&domain, "is_free", 0).expect("another call"), 1);
    call(&domain, "call_ends_in_a_nested_handler", 0).expect_err("a trap");
    assert_eq!(call(&domain, "is_free", 0).expect("another call"), 1);
    assert_eq!(call(&domain, "faults", 3).expect("another call"), 9);
}
