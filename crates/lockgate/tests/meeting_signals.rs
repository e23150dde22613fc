//! Signals of a domain's own (docs/decisions/0080) where they meet what else there is: contexts and other threads, functions of the host's,
//! functions that are called for themselves, frames of all kinds. What own_signals.rs tries is one call on one stack.

use crate::common::{Guest, host_sys, in_time, started, watchdog};
use lockgate::{
    Allow, CallError, Domain, DomainOptions, Export, FaultKind, HostFunction, Module, OnFailure, Policy,
    Pool, Principal, Registry, Request, Revoke, Version,
};
use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

type Long = extern "C" fn(i64) -> i64;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#define FAR __attribute__((noinline, noclone))
long host(long);

static volatile long count;
static void on(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(signal, &action, 0);
}
static void note(int signal) { count++; }
static int blocks(int signal) { sigset_t now; sigprocmask(SIG_BLOCK, 0, &now); return sigismember(&now, signal); }
static void every(long microseconds) { struct itimerval t = {{0, microseconds}, {0, microseconds}}; setitimer(ITIMER_REAL, &t, 0); }

/* Functions of a few instructions, which call nothing: proxies keep only what these can touch, until a handler begins. */
long touch(volatile long *at) { return *at; }
long waits_for(volatile long *at) { while (!*at) ; return *at; }
static volatile long word;
long address(long n) { word = 0; return (long)&word; }
static volatile long does;
FAR static long escaped(void) {
    unsigned mxcsr = 0x7d80; unsigned short x87 = 0x37b; /* a division by zero is unmasked */
    __asm__ volatile("ldmxcsr %0; fldcw %1" :: "m"(mxcsr), "m"(x87));
    return 4242;
}
static volatile long going;
FAR static long goes_on(void) { for (going = 1;;) __asm__ volatile(""); }
long is_going(long n) { return going; }
static void leads_away(int signal, siginfo_t *info, void *context) {
    unsigned mxcsr = 0x7d80;
    __asm__ volatile("ldmxcsr %0" :: "m"(mxcsr));
    host(2);
    if (does == 1) __builtin_trap();
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)(does == 2 ? goes_on : escaped);
}
long handles_faults(long what) { does = what; struct sigaction action = {.sa_sigaction = leads_away, .sa_flags = SA_SIGINFO}; return sigaction(SIGSEGV, &action, 0); }
static void gives_word(int signal) { word = 1; }
long handles_timers(long n) { on(SIGALRM, gives_word), every(1000); return 0; }

/* A context that two threads run in turn, each with a handler on it. */
static ucontext_t shared, first, second;
static char stacks[4][1 << 16];
static volatile int phase;
static void makes(ucontext_t *context, void (*function)(void), int number) {
    getcontext(context), context->uc_stack.ss_sp = stacks[number], context->uc_stack.ss_size = sizeof stacks[number], context->uc_link = 0;
    makecontext(context, function, 0);
}
static void others(int signal) { swapcontext(&shared, &second); }
static void ours(int signal) { swapcontext(&shared, &first); raise(SIGUSR2); }
FAR static long digs(long n) {
    volatile long room[3] = {n, n, n};
    long result = 0;
    if (n) result = digs(n - 1) + 1; else { swapcontext(&shared, &first); result = syscall(SYS_rt_sigreturn); }
    return result + room[1] - room[2];
}
static void is_shared(void) { raise(SIGUSR1); digs(400); }
static void *takes(void *unused) { while (phase != 1) ; swapcontext(&second, &shared); phase = 2; while (phase != 3) ; swapcontext(&second, &shared); return 0; }
long handlers_of_two_threads(long n) {
    on(SIGUSR1, ours), on(SIGUSR2, others), phase = 0;
    makes(&shared, is_shared, 0);
    pthread_t thread; if (pthread_create(&thread, 0, takes, 0)) return -1;
    swapcontext(&first, &shared);
    phase = 1; while (phase != 2) ;
    swapcontext(&first, &shared);
    phase = 3; pthread_join(thread, 0);
    return 1;
}

/* Handlers on two contexts, of which the older one is interrupted once more when it ends. */
static ucontext_t older, newer, home;
static volatile long order;
static void in_older(int signal) {
    if (order++) return; /* the second time */
    swapcontext(&older, &newer);
    raise(SIGUSR1); /* which is blocked here, and comes when this handler ends */
}
static void in_newer(int signal) { order += 10; swapcontext(&newer, &older); order += 100; }
static void begins_older(void) { raise(SIGUSR1); swapcontext(&older, &newer); order += 10000; setcontext(&home); }
static void begins_newer(void) { sigset_t none; sigemptyset(&none); raise(SIGUSR2); order += 1000; swapcontext(&newer, &older); }
long handlers_take_turns(long n) {
    on(SIGUSR1, in_older), on(SIGUSR2, in_newer), order = 0;
    makes(&older, begins_older, 0), makes(&newer, begins_newer, 1);
    swapcontext(&home, &older);
    return order;
}

/* Contexts that a timer switches, as threads of a program's own. */
static ucontext_t turns[4], done;
static volatile int now; static volatile long work[4], switches, most;
static void tick(int signal) {
    int me = now; switches++;
    if (switches >= most) setcontext(&done);
    now = (me + 1) % 4;
    swapcontext(&turns[me], &turns[now]);
}
static void works(void) { sigset_t set; sigemptyset(&set), sigaddset(&set, SIGALRM), sigprocmask(SIG_UNBLOCK, &set, 0); for (;;) work[now]++; }
long preempts(long n) {
    switches = 0, most = n, now = 0, on(SIGALRM, tick);
    sigset_t set; sigemptyset(&set), sigaddset(&set, SIGALRM), sigprocmask(SIG_BLOCK, &set, 0);
    for (int i = 0; i < 4; i++) makes(&turns[i], works, i);
    every(300), swapcontext(&done, &turns[0]), every(0), on(SIGALRM, SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &set, 0);
    return switches;
}

/* Signals while the host has the thread. */
long host_under_a_timer(long n) {
    on(SIGALRM, note), count = 0, every(50);
    long interrupted = host(1);
    while (!count) ;
    every(0);
    return interrupted;
}
/* The only signal comes while the host has the thread. */
long host_under_an_alarm(long n) {
    struct itimerval once = {{0, 0}, {0, 5000}};
    on(SIGALRM, note), count = 0, setitimer(ITIMER_REAL, &once, 0);
    long interrupted = host(1);
    while (!count) ;
    return interrupted;
}
static pthread_t caller; static volatile int stops;
static void *floods(void *unused) { while (!stops) pthread_kill(caller, SIGUSR1); return 0; }
long host_under_a_flood(long n) {
    pthread_t thread; on(SIGUSR1, note), count = 0, stops = 0, caller = pthread_self();
    if (pthread_create(&thread, 0, floods, 0)) return -1;
    long interrupted = host(1);
    while (!count) ;
    stops = 1, pthread_join(thread, 0);
    return interrupted;
}

/* Frames of variable size that are closed on the way to a label, and opened there; larger than what a handler leaves free below rsp. */
static void overwrites(int signal) { volatile char room[3000]; memset((void *)room, 0xa5, sizeof room); count++; }
FAR static long gotos(long n, long size) {
    static void *volatile table[2];
    volatile char big[size];
    table[0] = &&even, table[1] = &&odd;
    for (int j = 0; j < size; j++) big[j] = j * 7;
    long i = 0;
even: if (++i > n) goto out; goto *table[i & 1];
odd: if (++i > n) goto out; goto *table[i & 1];
out: for (int j = 0; j < size; j++) if (big[j] != (char)(j * 7)) return -1;
    return i;
}
long storm_of_gotos(long n) {
    on(SIGALRM, overwrites), count = 0, every(300);
    long found;
    do found = gotos(200000, 150000); while (found > 0 && count < n);
    every(0);
    return found > 0 ? count : found;
}

/* What waits for a signal that another thread takes. */
static __thread volatile long own_count;
static void own(int signal) { own_count++; }
static void *takes_all(void *unused) { while (!stops) { sigset_t none; sigemptyset(&none); sigprocmask(SIG_SETMASK, &none, 0); } return 0; }
static void *sends(void *unused) { sigset_t all; sigfillset(&all), sigprocmask(SIG_SETMASK, &all, 0); while (!stops) kill(getpid(), SIGUSR1); return 0; }
static int waits_with(long polls, sigset_t *mask) { return polls ? ppoll(0, 0, 0, mask) : sigsuspend(mask); }
static long taken_waits(long times, long polls) {
    pthread_t taker, sender;
    sigset_t set, empty; sigemptyset(&empty), sigemptyset(&set), sigaddset(&set, SIGUSR1), sigprocmask(SIG_SETMASK, &set, 0);
    on(SIGUSR1, own), stops = 0;
    if (pthread_create(&taker, 0, takes_all, 0) || pthread_create(&sender, 0, sends, 0)) return -1;
    long taken = 0;
    while (taken < times) {
        long before = own_count;
        if (waits_with(polls, &empty) != -1 || errno != EINTR) taken = -1000;
        if (!blocks(SIGUSR1)) taken = -2000;
        if (taken < 0) break;
        taken += own_count == before;
    }
    stops = 1, pthread_join(taker, 0), pthread_join(sender, 0);
    sigprocmask(SIG_SETMASK, &empty, 0);
    return taken;
}
long suspends(long times) { return taken_waits(times, 0); }
long polls(long times) { return taken_waits(times, 1); }

/* Calls that the host leaves by a jump. */
long sets_mask(long mask) { sigset_t set; memset(&set, 0, sizeof set), memcpy(&set, &mask, 8); return sigprocmask(SIG_SETMASK, &set, 0); }
long has_timers(long n) {
    for (int i = 0; i < 32; i++) {
        timer_t timer;
        struct itimerspec soon = {{0, 1}, {0, 1}};
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCHLD};
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &soon, 0)) return -1;
    }
    return 0;
}
long own_mask(long n) { sigset_t now; sigprocmask(SIG_BLOCK, 0, &now); memcpy(&n, &now, 8); return n; }
static void asks_host(int signal) { host(3); }
long left_in_a_handler(long mask) { sets_mask(mask), on(SIGUSR1, asks_host); return raise(SIGUSR1); }
long left_in_a_wait(long polls) { sigset_t none; sigemptyset(&none); return waits_with(polls, &none); }
/* Calls that end in their midst. */
long ends_masked(long how) {
    sigset_t all;
    sigfillset(&all), sigprocmask(SIG_BLOCK, &all, 0);
    if (how == 0) __builtin_trap();
    if (how == 1) raise(SIGKILL);
    if (how == 2) abort();
    if (how == 3) _exit(0);
    if (how == 4) sigsuspend(&all);
    if (how == 5) for (;;) ;
    return host(3);
}
/* libc's own: it blocks all for a moment. */
long ends_by_libc(long signal) { return raise(signal); }
long nests_what_ends(long how) { host(10 + how); return own_mask(0); }
static sigset_t inherited;
static void *looks(void *unused) { sigprocmask(SIG_BLOCK, 0, &inherited); return 0; }

/* Contexts that a handler on them has left for good, each with memory that the next one is given. */
static void leaves_context(int signal) { swapcontext(&shared, &first); }
static void raises_there(void) { raise(SIGUSR1); }
static void waits_there(void) { on(SIGALRM, leaves_context); every(100); for (;;) ; }
long leaves_contexts(long times) {
    on(SIGUSR1, leaves_context);
    for (long n = 0; n < times; n++) {
        sigset_t none;
        sigemptyset(&none), sigprocmask(SIG_SETMASK, &none, 0);
        makes(&shared, n % 2 ? raises_there : waits_there, 0);
        if (swapcontext(&first, &shared)) return -1;
        /* (What the timer has sent since, which waits, would come when it is let in, and leave for `first` once more.) */
        every(0), signal(SIGALRM, SIG_IGN);
    }
    return times;
}
/* How long a handler takes to come, microseconds. */
static volatile long came;
static long time_now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000 + t.tv_nsec / 1000; }
static void notes_when(int signal) { came = time_now(); }
static void once(long milliseconds) { struct itimerval t = {{0, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000}}; setitimer(ITIMER_REAL, &t, 0); }
/* Of a timer, in a loop without calls. */
long timer_delay(long milliseconds) {
    on(SIGALRM, notes_when), came = 0;
    long due = time_now() + 1000 * milliseconds;
    once(milliseconds);
    while (!came) ;
    return came - due;
}
/* A signal of this domain's waits meanwhile. */
long others_timer_delay(long milliseconds) { on(SIGALRM, note), once(1); long delay = host(milliseconds); once(0); return delay; }
/* Of one to a thread in such a loop, which was told before of some that another one took. */
static void *loops(void *unused) { does = 1; while (!came) ; return 0; }
long delay_behind_others(long milliseconds) {
    struct timespec wait = {0, 1000000 * milliseconds};
    pthread_t thread;
    on(SIGUSR1, note), on(SIGUSR2, notes_when), came = does = 0;
    if (pthread_create(&thread, 0, loops, 0)) return -1;
    while (!does) ;
    for (int i = 0; i < 50; i++) kill(getpid(), SIGUSR1);
    nanosleep(&wait, 0);
    long sent = time_now();
    pthread_kill(thread, SIGUSR2);
    pthread_join(thread, 0);
    return came - sent;
}
/* Of one that had no room to begin, from when it has: as many thousandths of the time without. */
static unsigned long ticks(void) { unsigned low, high; __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)); return (unsigned long)high << 32 | low; }
static volatile unsigned long came_at;
static void notes_tick(int signal) { came_at = ticks(); }
FAR static void has_no_room(unsigned long time) {
    volatile char frame[90000];
    frame[0] = frame[89999] = 0;
    for (unsigned long end = ticks() + time; ticks() < end;) ;
    frame[0] = 1;
}
/* A timer's signal, behind system calls without room for its handler; how many handlers then ran when there is some. */
FAR static long calls_without_room(void) {
    volatile char frame[60000];
    struct itimerval left;
    frame[0] = frame[59999] = 0;
    once(1);
    do syscall(SYS_getitimer, ITIMER_REAL, &left);
    while (left.it_value.tv_sec || left.it_value.tv_usec);
    for (int i = 0; i < 100; i++) syscall(SYS_umask, 022), syscall(SYS_getppid);
    return count + frame[0];
}
long waits_for_room(long n) {
    on(SIGALRM, note), count = 0;
    long before = calls_without_room();
    while (!count) ;
    return before * 10 + count;
}
long delay_behind_no_room(long n) {
    unsigned long time = n << 21;
    on(SIGALRM, notes_tick), came_at = 0, once(1);
    has_no_room(time);
    unsigned long begun = ticks();
    while (!came_at) ;
    return came_at < begun ? -1 : (long)((came_at - begun) * 1000 / time);
}

long first_signal(long n) { on(SIGUSR1, note), count = 0, raise(SIGUSR1); return count; }
"#;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).gate("long host(long)").module());

/// MXCSR and the x87 control word, as a function of the host's has found them.
static FOUND: AtomicU32 = AtomicU32::new(0);

fn control_words() -> u32 {
    let (mxcsr, x87, _) = host_sys::cpu_state();
    mxcsr | u32::from(x87) << 16
}

fn options() -> DomainOptions {
    let host = HostFunction::new(move |domain: &Domain, x: i64| match x {
        // How often a wait was cut short.
        1 => (0..20)
            .map(|_| nanosleep(&Timespec { tv_sec: 0, tv_nsec: 3_000_000 }))
            .filter(|result| !matches!(result, NanosleepRelativeResult::Ok))
            .count() as i64,
        3 => {
            host_sys::jump_out();
            0
        }
        10.. => {
            call(domain, "ends_masked", x - 10).expect_err("an end");
            0
        }
        _ => {
            FOUND.store(control_words(), Ordering::SeqCst);
            0
        }
    });
    DomainOptions::new().gate("host", host).max_guest_threads(4)
}

fn domain() -> Domain {
    Domain::new(&MODULE, options()).expect("a domain")
}

fn call(domain: &Domain, name: &str, x: i64) -> Result<i64, CallError> {
    domain.bind::<Long>(name).expect("an export").call(x)
}

fn kind(error: &CallError) -> FaultKind {
    error.fault().unwrap_or_else(|| panic!("{error}")).kind()
}

/// Of a function that calls nothing a proxy keeps what the function can touch, and a handler of the domain's own can touch all that the module
/// can. Red if the call goes on by that proxy: the host goes on with the module's MXCSR, and ends at its next division; or if no handler begins
/// in such a call.
#[test]
fn functions_that_call_nothing_are_interrupted() {
    const NOWHERE: i64 = 0x9000;
    let before = control_words();
    for does in [0, 1] {
        let domain = domain();
        let early = domain.bind::<Long>("touch").expect("an export");
        assert_eq!(kind(&early.call(NOWHERE).expect_err("a fault")), FaultKind::Segv);
        call(&domain, "handles_faults", does).expect("a handler");
        let late = domain.bind::<Long>("touch").expect("an export");
        for touch in [early, late] {
            // Other words than those of any call before: noted where the handler begins.
            let (mxcsr, x87) = (0x3f80, 0x27f);
            let (mut words, mut after) = (0, 0);
            FOUND.store(0, Ordering::SeqCst);
            crate::common::host_sys::with_mxcsr(mxcsr, || {
                crate::common::host_sys::with_x87_control(x87, || {
                    words = control_words();
                    match touch.call(NOWHERE) {
                        Ok(value) => assert_eq!((value, does), (4242, 0)),
                        Err(error) => assert_eq!((kind(&error), does), (FaultKind::Ill, 1)),
                    }
                    after = control_words();
                });
            });
            assert_eq!((words, after), (mxcsr | u32::from(x87) << 16, words));
            assert_eq!(FOUND.load(Ordering::SeqCst), words, "a function of the host's has its own words");
            assert_eq!(control_words(), before);
        }
    }
    // One that comes by itself, for which the function waits: it makes no call, and has been bound before there was a handler.
    let limited = options().time_limit(Duration::from_secs(20));
    let domain = Domain::new(&MODULE, limited).expect("a domain");
    let address = call(&domain, "address", 0).expect("an address");
    let waits = domain.bind::<Long>("waits_for").expect("an export");
    call(&domain, "handles_timers", 0).expect("a handler");
    assert_eq!(waits.call(address).expect("the handler has run"), 1);
}

/// The same where the handler comes to be there while the call is in progress, by another thread's hand.
#[test]
fn a_handler_that_comes_during_a_call_begins_in_it() {
    let _watchdog = watchdog("a_handler_that_comes_during_a_call_begins_in_it");
    let domain = domain();
    let address = call(&domain, "address", 0).expect("an address");
    std::thread::scope(|scope| {
        let waits = domain.bind::<Long>("waits_for").expect("an export");
        let waiting = scope.spawn(move || waits.call(address));
        while domain.usage().calls == 0 {
            std::thread::yield_now();
        }
        call(&domain, "handles_timers", 0).expect("a handler");
        assert_eq!(waiting.join().expect("a thread").expect("the handler has run"), 1);
    });
}

/// A call that a handler has begun in is known by its binding all the same: that can be revoked. Red if what the call goes by from then on is taken
/// for another binding: it goes on for ever.
#[test]
fn calls_that_were_interrupted_are_revoked() {
    let _watchdog = watchdog("calls_that_were_interrupted_are_revoked");
    const NOWHERE: i64 = 0x9000;
    let (registry, server) = (Registry::new(), domain());
    let export = Export::new("touch", Version::new(1, 0)).of("long touch(long)").allow(Allow::Everyone);
    registry.export(&server, export).expect("it is exported");
    let touch = registry.bind::<Long>(&Principal::nobody(), &Request::newest("touch")).expect("a function");
    call(&server, "handles_faults", 2).expect("a handler");
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| touch.call(NOWHERE));
        while call(&server, "is_going", 0).expect("a number") == 0 {
            std::thread::yield_now();
        }
        // (Nothing else interrupts the loop that the handler has led to.)
        registry.revoke("touch", Revoke::Stop).expect("it is there");
        let error = inside.join().expect("a thread").expect_err("it ends");
        assert!(matches!(&error, CallError::Revoked(name) if name == "touch"), "{error}");
    });
}

/// Red if a handler's return is known by its stack alone: the other thread's call goes on at what is the frame of a function that it has never
/// called, and returns by its return word.
#[test]
fn nobody_returns_over_what_another_call_has_interrupted() {
    let _watchdog = watchdog("nobody_returns_over_what_another_call_has_interrupted");
    let domain = domain();
    let error = call(&domain, "handlers_of_two_threads", 0).expect_err("a return that is another call's");
    let fault = error.fault().expect("a fault");
    assert_eq!(fault.kind(), FaultKind::Gate, "{error}");
    assert!(fault.reason().contains("rt_sigreturn"), "{error}");
    drop(domain);
}

/// Handlers on several contexts of one call end in any order. Red if what is interrupted once more keeps its age: those that came since are
/// forgotten.
#[test]
fn handlers_on_contexts_take_turns() {
    let _watchdog = watchdog("handlers_on_contexts_take_turns");
    let domain = domain();
    assert_eq!(call(&domain, "handlers_take_turns", 0).expect("a value"), 11112);
    assert_eq!(call(&domain, "preempts", 500).expect("a value"), 500);
}

/// A domain's signals are no affair of the host's. Red if they are told to a thread that the host has: its waits end, with EINTR, as often as
/// the module likes (230 of 230). (A kick that was on its way when the thread came to the host ends one.)
#[test]
fn no_signal_interrupts_a_function_of_the_hosts() {
    let _watchdog = watchdog("no_signal_interrupts_a_function_of_the_hosts");
    let domain = domain();
    for name in ["host_under_an_alarm", "host_under_a_timer", "host_under_a_flood"] {
        let interrupted = call(&domain, name, 0).expect(name);
        assert!((0..3).contains(&interrupted), "{name}: {interrupted} waits were interrupted");
    }
}

/// Red if only frames of constant size count as closed.
#[test]
fn frames_of_variable_size_that_are_closed_survive() {
    let _watchdog = watchdog("frames_of_variable_size_that_are_closed_survive");
    let found = call(&domain(), "storm_of_gotos", 200).expect("a value");
    assert!(found >= 200, "{found}");
}

/// A wait that ends because of a signal which another thread has taken leaves its own mask behind. Red if only a handler brings it back.
#[test]
fn a_wait_whose_signal_is_taken_keeps_the_mask() {
    let _watchdog = watchdog("a_wait_whose_signal_is_taken_keeps_the_mask");
    assert_eq!(call(&domain(), "suspends", 20).expect("a value"), 20);
}

/// The same of `ppoll`.
#[test]
fn a_poll_whose_signal_is_taken_keeps_the_mask() {
    let _watchdog = watchdog("a_poll_whose_signal_is_taken_keeps_the_mask");
    assert_eq!(call(&domain(), "polls", 5).expect("a value"), 5);
}

/// Further down than where the test calls from, so that its next call tells that this is gone.
#[inline(never)]
fn in_a_deeper_frame<T>(work: impl FnOnce() -> T) -> T {
    let room = std::hint::black_box([0_u8; 4096]);
    let result = work();
    std::hint::black_box(room);
    result
}

/// Further down still, over what lies there: a frame of a call that was left is as it was, and the call seems to be in progress.
#[inline(never)]
fn below_what_was_left<T>(work: impl FnOnce() -> T) -> T {
    let room = std::mem::MaybeUninit::<[u8; 1 << 16]>::uninit();
    std::hint::black_box(&room);
    let result = work();
    std::hint::black_box(&room);
    result
}

/// SIGUSR2 and SIGTERM.
const MASK: i64 = 0x4800;

/// So does one that the host leaves by a jump. Red if the thread has the wait's own mask from then on.
#[test]
fn a_wait_that_the_host_leaves_keeps_the_mask() {
    let _watchdog = watchdog("a_wait_that_the_host_leaves_keeps_the_mask");
    let domain = domain();
    let (wait, own) = (domain.bind::<Long>("left_in_a_wait").expect("an export"), host_sys::thread_number());
    host_sys::jump_out_at(libc::SIGUSR2);
    for polls in [0, 1] {
        call(&domain, "sets_mask", MASK).expect("a value");
        std::thread::scope(|scope| {
            scope.spawn(move || host_sys::send_asleep(own, libc::SIGUSR2));
            let jumped = in_a_deeper_frame(|| host_sys::jumped_out(|| drop(wait.call(polls))));
            assert!(jumped, "the handler jumps");
        });
        host_sys::left_behind(libc::SIGUSR2);
        assert_eq!(call(&domain, "own_mask", 0).expect("a value"), MASK, "{polls}");
    }
}

/// A call that ends in its midst, however it does, leaves the thread with the mask that it found: for the next one, and for the one that it is
/// nested in. Red if the mask stays as it was at the end: all signals are blocked.
#[test]
fn a_call_that_ends_gives_the_mask_back() {
    let _watchdog = watchdog("a_call_that_ends_gives_the_mask_back");
    let limit = Duration::from_millis(50);
    for mask in [0, MASK] {
        let domain = started(&MODULE, options().time_limit(limit));
        let value = |name: &str, argument| in_time(|| call(&domain, name, argument)).expect("a value");
        value("sets_mask", mask);
        let keeps = |what: &str| assert_eq!(value("own_mask", 0), mask, "{what}");
        for how in 0..=5 {
            call(&domain, "ends_masked", how).expect_err("an end");
            keeps(&format!("end {how}"));
        }
        call(&domain, "ends_by_libc", libc::SIGKILL.into()).expect_err("an end");
        keeps("an end in libc");
        for how in [0, 1, 3] {
            assert_eq!(value("nests_what_ends", how), mask, "nested end {how}");
        }
        let jumps = domain.bind::<Long>("ends_masked").expect("an export");
        assert!(in_a_deeper_frame(|| host_sys::jumped_out(|| drop(jumps.call(6)))), "the host jumps");
        keeps("a jump");
    }
}

/// The watcher looks at a domain's timers when nobody is inside. Red if that counts as a use: one reset of twenty is refused.
#[test]
fn timers_keep_no_domain_from_being_reset() {
    let _watchdog = watchdog("timers_keep_no_domain_from_being_reset");
    let mut domain = domain();
    for _ in 0..4000 {
        assert_eq!(call(&domain, "has_timers", 0).expect("a value"), 0);
        domain.reset().expect("nobody is inside");
    }
}

/// What a jump of the host's has left behind is cleared away when the thread next calls, or resets, from further out. Red if that finds the next user
/// of a domain of a pool: its thread has the mask of the last one.
#[test]
fn a_call_that_the_host_leaves_is_not_the_next_users() {
    let _watchdog = watchdog("a_call_that_the_host_leaves_is_not_the_next_users");
    let pool = Pool::new(&MODULE, options(), 1);
    for user in 0..4 {
        let domain = pool.take().expect("a domain");
        assert_eq!(call(&domain, "own_mask", 0).expect("a value"), 0, "user {user}");
        call(&domain, "sets_mask", MASK).expect("a value");
        let jumps = domain.bind::<Long>("left_in_a_handler").expect("an export");
        assert!(host_sys::jumped_out(|| in_a_deeper_frame(|| drop(jumps.call(MASK)))), "the host jumps");
        let give_back = || {
            drop(jumps);
            drop(domain);
        };
        match user % 2 {
            0 => give_back(),
            _ => below_what_was_left(give_back),
        }
        assert_eq!(pool.ready(), 1, "user {user}");
    }
}

/// What is known of a place in the code is found out from the last call before it, and is what a look at all the code says.
#[test]
fn places_are_known_from_the_last_call_on() {
    let file = Guest::c(SOURCE).gate("long host(long)").build();
    let module = lockgate_verify::Module::parse(&file).expect("a module");
    let frames = lockgate_verify::verify(&module).expect("a module that verifies").frames;
    let code = &module.segments[0];
    let mut begin = 0;
    for address in (code.address..code.address + code.size).step_by(13) {
        let whole = lockgate_verify::place(&file, &module, &lockgate_verify::Frames::default(), address);
        assert_eq!(lockgate_verify::place(&file, &module, &frames, address), whole, "{address:#x}");
        begin += usize::from(whole.expect("it is in the code").begins);
    }
    assert!(begin > 100, "{begin}");
    assert_eq!(lockgate_verify::place(&file, &module, &frames, code.address + code.size), None);
}

/// Handlers in handlers, in the innermost of which the host is called.
const GREEDY: &str = r#"
#include <signal.h>
long host(long);
static volatile long depth, wanted, result;
static void deeper(int signal) { if (++depth < wanted) raise(SIGUSR1); else result = host(3); }
long greedy(long n) {
    struct sigaction action = {.sa_handler = deeper, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, 0);
    depth = 0, wanted = n, result = -1;
    raise(SIGUSR1);
    return result;
}
"#;

/// A library that probes memory under a handler of its own.
/// What waits for others, or cannot begin yet, puts off no signal of a domain's. (How long it takes others to come to the processor is their
/// affair: half of some calls have it in time, once of a few tries. Where kicks become rarer by half each time, one of these may come just then.)
/// Red if kicks for the one become rarer with those for the other, or if a thread counts as told for good of what another one has taken.
#[test]
fn what_waits_puts_off_no_signal() {
    let _watchdog = watchdog("what_waits_puts_off_no_signal");
    let comes_by = |domain: &Domain, name: &str, limit: i64| {
        let usual = || {
            let mut late = [400, 500, 600, 700, 800].map(|time| call(domain, name, time).expect("a time"));
            late.sort_unstable();
            assert!(late[0] >= 0, "{name}: {late:?}, before its time");
            late[2]
        };
        let tries: Vec<_> = (0..3).map(|_| usual()).take_while(|late| *late >= limit).collect();
        assert!(tries.len() < 3, "{name}: {tries:?} late");
    };
    let (client, server) = (domain(), domain());
    client
        .link("host", &server, "long timer_delay(long)", Policy::default(), OnFailure::default())
        .expect("a link");
    for (domain, name) in [(&client, "others_timer_delay"), (&server, "delay_behind_others")] {
        comes_by(domain, name, 60_000);
    }
    let small = Domain::new(&MODULE, options().stack_size(128 << 10)).expect("a domain");
    comes_by(&small, "delay_behind_no_room", 100);
}

/// The signal of a timer waits for room for its handler behind system calls, too, that it has nothing to do with. Red if it ends the call.
#[test]
fn a_signal_waits_for_room_behind_system_calls() {
    let _watchdog = watchdog("a_signal_waits_for_room_behind_system_calls");
    let small = Domain::new(&MODULE, options().stack_size(64 << 10)).expect("a domain");
    assert_eq!(call(&small, "waits_for_room", 0).expect("a value"), 1);
}

/// A handler on a context that is no more counts as none that is in progress. Red if a domain has used up its own by then.
#[test]
fn handlers_end_with_their_contexts() {
    let _watchdog = watchdog("handlers_end_with_their_contexts");
    assert_eq!(call(&domain(), "leaves_contexts", 100).expect("a value"), 100);
}

const PROBES: &str = r#"
#include <setjmp.h>
#include <signal.h>
static sigjmp_buf out;
static void leave(int signal) { siglongjmp(out, 1); }
long probe(long at) {
    struct sigaction action = {.sa_handler = leave};
    sigaction(SIGSEGV, &action, 0);
    return sigsetjmp(out, 1) ? -1 : *(volatile long *)at;
}
"#;

/// A domain that has as many handlers in progress as it may takes none of the thread's other domains' handlers. Red if they share the places.
#[test]
fn a_domain_has_its_handlers_whatever_others_have() {
    let _watchdog = watchdog("a_domain_has_its_handlers_whatever_others_have");
    let other = Guest::c(PROBES).module();
    let other = Domain::new(&other, DomainOptions::new()).expect("a domain");
    let asks = HostFunction::new(move |_: &Domain, _: i64| call(&other, "probe", 0).expect("a value"));
    let options = DomainOptions::new().gate("host", asks);
    let greedy = Guest::c(GREEDY).gate("long host(long)").domain_with(options);
    for depth in [1, 23, 24] {
        assert_eq!(call(&greedy, "greedy", depth).expect("a value"), -1, "{depth}");
    }
    let error = call(&greedy, "greedy", 25).expect_err("too many");
    assert!(error.to_string().contains("too many"), "{error}");
    assert_eq!(call(&greedy, "greedy", 24).expect("a value"), -1);
}

/// The first signal of a domain's takes no longer than others, however large the module: its call ends in time.
#[test]
fn a_place_far_behind_all_calls_is_not_looked_for() {
    let text = format!(
        "{SOURCE}\nlong filler(long x) {{ __asm__ volatile(\".rept 300000\\n add $1,%rax\\n.endr\"); return x; }}\n"
    );
    let file = Guest::c(&text).gate("long host(long)").build();
    let module = lockgate_verify::Module::parse(&file).expect("a module");
    let frames = lockgate_verify::verify(&module).expect("a module that verifies").frames;
    let filler = module.exports.iter().find(|export| export.name == "filler").expect("an export").address;
    let at = |far: u64| lockgate_verify::place(&file, &module, &frames, filler + far);
    assert!(at(1000).is_some());
    assert_eq!(at((1 << 20) + 4096), None);
}
