//! Calls that go on without their callers ([`Expiry::Detach`]): at any instruction, and in system calls that wait.

use crate::common::host_sys::{
    AllMappings, in_child_of, is_ended_where_handlers_are_let_in, signal_storm_every, thread_number,
};
use crate::common::{Guest, watchdog};
use lockgate::syscall::{Access, Grants};
use lockgate::{
    Allow, CallError, CallLimit, Domain, DomainOptions, Expiry, Export, FaultKind, Function, HostFunction,
    Module, OnFailure, Pointer, Policy, Principal, Rebind, Region, Registry, Request, Rights, Version,
    Workers,
};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

const SOURCE: &str = r#"
#include <alloca.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
long told(long);
static volatile int go;
static volatile long done;
static __thread long mine;
static int ends[2] = {-1, -1};
static volatile int word;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
long begin(void) { go = 0; if (ends[0] < 0 && (pipe(ends) || sem_init(&semaphore, 0, 0))) return errno; return 0; }
long let_go(void) { go = 1; return done; }
long has_done(void) { return done; }
long my_own(void) { return mine; }
long leave(long n) { mine = n; return n; }
/* Computes until it is let go, and says then what it has kept in the thread's own storage. */
long spin(long n) { mine = n; while (!go) ; done += n; return told(mine); }
long forever(void) { for (;;) ; }
long crash_later(void) { while (!go) ; return *(volatile long *)16; }
long exit_later(void) { while (!go) ; exit(3); }

/* What runs has something in every kind of register and frame: a wrong one changes the sum. */
static double weigh(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * (i + 1); return s; }
static unsigned long mix(unsigned long h, int depth) {
    int n = 8 + h % 24;
    volatile unsigned char *room = alloca(n);
    for (int i = 0; i < n; i++) room[i] = h >> i % 8;
    double x[8];
    for (int i = 0; i < 8; i++) x[i] = (double)(h >> i & 0xff) / 16;
    unsigned long sum = (unsigned long)(long)(weigh(x, 8) * 16);
    for (int i = 0; i < n; i++) sum = sum * 31 + room[i];
    return depth ? sum ^ mix(sum, depth - 1) : sum;
}
static long sum_of(long rounds) {
    unsigned long h = rounds;
    static unsigned long (*volatile step)(unsigned long, int) = mix;
    for (long i = 0; i < rounds; i++) h = step(h, i % 5) + i;
    return (long)(h >> 1);
}
long sum(long rounds) { return sum_of(rounds); }
long sum_and_tell(long rounds) { return told(sum_of(rounds)); }

/* Waits, and says how that has ended. */
long await(long which) {
    struct timespec moment = {0, 60000000}, minute = {60, 0};
    struct timeval time = {60, 0};
    char byte = 0;
    long got = -1;
    fd_set set;
    struct epoll_event event = {.events = EPOLLIN};
    struct pollfd one = {ends[0], POLLIN, 0};
    done = 0;
    switch (which) {
    case 0: got = nanosleep(&moment, 0); break;
    case 1: got = read(ends[0], &byte, 1) - 1; break;
    case 2: got = poll(&one, 1, -1) - 1; got += read(ends[0], &byte, 1) - 1; break;
    case 3: while (!word) got = syscall(SYS_futex, &word, 0, 0, &minute, 0, 0); if (got < 0 && errno == EAGAIN) got = 0; break;
    case 4: FD_ZERO(&set); FD_SET(ends[0], &set); got = select(ends[0] + 1, &set, 0, 0, &time) - 1; got += read(ends[0], &byte, 1) - 1; break;
    case 5: { int all = epoll_create1(0); epoll_ctl(all, EPOLL_CTL_ADD, ends[0], &event); got = epoll_wait(all, &event, 1, -1) - 1; got += read(ends[0], &byte, 1) - 1; close(all); break; }
    case 6: got = sem_wait(&semaphore); break;
    case 7: got = pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); break;
    }
    if (got < 0) got = -errno;
    done = 1;
    return told(got);
}
long wake(long which) {
    go = 1;
    if (which == 3) { word = 1; syscall(SYS_futex, &word, 1, 9); return 0; }
    if (which == 6) return sem_post(&semaphore);
    if (which == 7) return pthread_mutex_unlock(&mutex);
    return write(ends[1], "x", 1) - 1;
}
long lock(void) { return pthread_mutex_lock(&mutex); }

/* Where something of the call is another's. */
static void handle(int signal) { (void)signal; while (!go) ; }
long in_handler(void) { signal(SIGUSR1, handle); raise(SIGUSR1); return done = 1; }
static ucontext_t main_context, other;
static void run_other(void) { while (!go) ; }
long in_context(void) {
    static char stack[1 << 16];
    getcontext(&other);
    other.uc_stack.ss_sp = stack; other.uc_stack.ss_size = sizeof stack; other.uc_link = &main_context;
    makecontext(&other, run_other, 0);
    swapcontext(&main_context, &other);
    return done = 1;
}
long with_mask(void) { sigset_t none; sigemptyset(&none); sigsuspend(&none); return done = 1; }
/* What instructions raise, and the module handles itself. */
static volatile long caught;
static sigjmp_buf back;
static void on_trap(int signal) { (void)signal; caught++; }
static void on_overflow(int signal) { (void)signal; caught++; siglongjmp(back, 1); }
static long descend(volatile long *p, long n) {
    volatile char room[4000];
    room[0] = room[3999] = n;
    long result = descend(p, n + 1);
    return result + room[3] + p[0];
}
long traps(long n) {
    signal(SIGTRAP, on_trap);
    caught = 0;
    for (volatile long i = 0; i < n; i++) __asm__ volatile("int3");
    return told(caught);
}
long overflows(long n) {
    static char stack[16384];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&alternate, 0) || sigaction(SIGSEGV, &action, 0)) return told(-1);
    caught = 0;
    for (volatile long i = 0; i < n; i++) if (!sigsetjmp(back, 1)) { long z = 0; descend(&z, 0); }
    return told(caught);
}
long call_host(long n) { long x = told(n); done = 1; return x; }
long through(const char *p) { while (!go) if (*p == 1) break; done = 1; return *p; }
"#;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).gate("long told(long)").module());

type Nullary = extern "C" fn() -> i64;
type Unary = extern "C" fn(i64) -> i64;

/// What a domain tells the host, and on which thread.
type Told = Receiver<(i64, i32)>;

fn options() -> DomainOptions {
    let grants = Grants::default().directory("/tmp", "/tmp", Access::ReadOnly).expect("a folder");
    DomainOptions::new().name("server").grants(grants)
}

fn domain(options: DomainOptions) -> (Domain, Told) {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let host = HostFunction::new(move |_: &Domain, what: i64| {
        let _ = tell.lock().expect("a lock").send((what, thread_number()));
        what
    });
    let domain = Domain::new(&MODULE, options.gate("told", host)).expect("a domain");
    assert_eq!(domain.bind::<Nullary>("begin").expect("a function").call().expect("a pipe"), 0);
    (domain, told)
}

fn detaching(milliseconds: u64) -> CallLimit {
    CallLimit::new(Duration::from_millis(milliseconds)).on_expiry(Expiry::Detach)
}

trait Within {
    fn nullary(&self, name: &str) -> Function<Nullary>;
    fn within(&self, name: &str, limit: CallLimit) -> Function<Unary>;
    fn within_nullary(&self, name: &str, limit: CallLimit) -> Function<Nullary>;
    /// Until so many detached calls have ended.
    fn until_ended(&self, calls: u64);
}

impl Within for Domain {
    fn nullary(&self, name: &str) -> Function<Nullary> {
        self.bind(name).expect("a function")
    }

    fn within(&self, name: &str, limit: CallLimit) -> Function<Unary> {
        self.bind_within(name, Policy::default(), limit).expect("a function")
    }

    fn within_nullary(&self, name: &str, limit: CallLimit) -> Function<Nullary> {
        self.bind_within(name, Policy::default(), limit).expect("a function")
    }

    fn until_ended(&self, calls: u64) {
        while self.usage().detached_ended < calls {
            std::thread::yield_now();
        }
    }
}

fn is_detached(error: &CallError) -> bool {
    matches!(error, CallError::Detached { .. })
}

fn is_stopped(error: &CallError) -> bool {
    error.fault().is_some_and(|fault| fault.kind() == FaultKind::TimeOut)
}

/// The caller has its error, and the call its memory, its registers and its thread-local storage. Red without [`Expiry::Detach`]: the call ends.
#[test]
fn a_call_goes_on_without_its_caller() {
    let _watchdog = watchdog("a detached call");
    let (domain, told) = domain(options());
    let spin = domain.within("spin", detaching(20));
    let error = spin.call(7).expect_err("it takes longer");
    assert!(is_detached(&error), "{error}");
    let text = error.to_string();
    assert!(text.contains("spin in domain server") && text.contains("20 ms; it goes on"), "{text}");
    assert_eq!(domain.usage().detached, 1);
    assert_eq!(domain.nullary("has_done").call().unwrap(), 0);
    domain.nullary("let_go").call().unwrap();
    let (what, thread) = told.recv().expect("a word");
    assert_eq!(what, 7);
    assert_ne!(thread, thread_number());
    domain.until_ended(1);
    let usage = domain.usage();
    assert_eq!((usage.detached, usage.detached_ended, usage.detached_failed), (0, 1, 0));
    assert_eq!(domain.nullary("has_done").call().unwrap(), 7);
    assert!(domain.detached_fault().is_none());
}

/// What is faster returns, and nothing goes on.
#[test]
fn a_call_in_time_returns() {
    let _watchdog = watchdog("calls in time");
    let (domain, _told) = domain(options());
    let sum = domain.within("sum", detaching(60_000));
    let expected = domain.bind::<Unary>("sum").unwrap().call(100).unwrap();
    for _ in 0..1000 {
        assert_eq!(sum.call(100).unwrap(), expected);
    }
    assert_eq!(domain.usage().detached_ended, 0);
}

/// Whatever instruction the limit finds the thread at, all registers and frames go on as they were. Red if one register is another one's, or the
/// vectors.
#[test]
fn every_register_goes_on() {
    let _watchdog = watchdog("sums of detached calls");
    let (domain, told) = domain(options().detached_limit(Duration::from_secs(60)));
    let plain = domain.bind::<Unary>("sum").unwrap();
    let sum = domain.within("sum_and_tell", detaching(1));
    let mut detached = 0;
    for round in 0..60 {
        let rounds = 150_000 + round;
        let expected = plain.call(rounds).unwrap();
        match sum.call(rounds) {
            Ok(found) => assert_eq!(found, expected),
            Err(error) => {
                assert!(is_detached(&error), "{error}");
                detached += 1;
            }
        }
        assert_eq!(told.recv().expect("a word").0, expected, "round {round}");
    }
    domain.until_ended(detached);
    assert!(detached > 30, "{detached} calls were detached");
    assert_eq!(domain.usage().detached_failed, 0);
}

/// Nor is a signal lost that an instruction has raised as the limit came: its handler runs on the new thread, and has the room that the stack keeps for
/// it. Red without `fault`, or `opened`, in [`Left`]: some traps are not counted, and some overflows end the call.
#[test]
fn signals_of_instructions_go_on() {
    let _watchdog = watchdog("signals of detached calls");
    let (domain, told) = domain(options().detached_limit(Duration::from_secs(60)));
    for (name, count) in [("traps", 3000), ("overflows", 300)] {
        let (mut detached, ended) = (0, domain.usage().detached_ended);
        let function = domain.within(name, detaching(1));
        for _ in 0..30 {
            match function.call(count) {
                Err(error) if is_detached(&error) => detached += 1,
                // (In a handler.)
                Err(error) if is_stopped(&error) => continue,
                result => assert_eq!(result.expect(name), count),
            }
            assert_eq!(told.recv().expect("a word").0, count, "{name}");
            domain.until_ended(ended + detached);
        }
        assert!(detached > 0, "{name}");
    }
    assert!(domain.detached_fault().is_none());
}

/// Calls that sleep go on sleeping: none learns of it. Red if a system call returns `EINTR`, or is not made once more.
#[test]
fn waits_go_on() {
    let _watchdog = watchdog("waits of detached calls");
    const NAMES: [&str; 8] =
        ["nanosleep", "read", "poll", "futex", "select", "epoll_wait", "sem_wait", "a mutex"];
    let (domain, told) = domain(options());
    for which in 0..8 {
        let name = NAMES[which as usize];
        domain.nullary("begin").call().unwrap();
        if which == 7 {
            domain.nullary("lock").call().unwrap();
        }
        let ended = domain.usage().detached_ended;
        let error = domain.within("await", detaching(20)).call(which).expect_err(name);
        assert!(is_detached(&error), "{name}: {error}");
        assert_eq!(domain.nullary("has_done").call().unwrap(), 0, "{name}");
        if which != 0 {
            domain.bind::<Unary>("wake").unwrap().call(which).unwrap();
        }
        let (got, thread) = told.recv().expect("a word");
        assert_eq!(got, 0, "{name}");
        assert_ne!(thread, thread_number());
        domain.until_ended(ended + 1);
        assert_eq!(domain.usage().detached_failed, 0, "{name}");
    }
}

/// Where something of the call is another's it is stopped, as without detachment, and nothing goes on.
#[test]
fn what_is_anothers_stays() {
    let _watchdog = watchdog("calls that cannot be detached");
    for name in ["in_handler", "in_context", "with_mask"] {
        let (domain, _told) = domain(options());
        let error = domain.within_nullary(name, detaching(20)).call().expect_err(name);
        assert!(is_stopped(&error), "{name}: {error}");
        assert_eq!(domain.usage().detached_ended + u64::from(domain.usage().detached), 0, "{name}");
        assert_eq!(domain.nullary("has_done").call().unwrap(), 0, "{name}");
    }
}

/// A function of the host's is never left behind: when it returns, the call ends. Red without `is_librarys` in `gate_sys`.
#[test]
fn a_call_with_a_function_of_the_hosts_is_stopped() {
    let _watchdog = watchdog("a function of the host's that waits");
    let host = HostFunction::new(move |domain: &Domain, what: i64| {
        // Until the limit has passed, as another call of it shows that began later.
        let other = domain.bind_within::<Nullary>(
            "forever",
            Policy::default(),
            CallLimit::new(Duration::from_millis(60)),
        );
        std::thread::scope(|threads| {
            threads.spawn(|| other.expect("a function").call().expect_err("it never ends"));
        });
        what
    });
    let domain = Domain::new(&MODULE, options().gate("told", host)).expect("a domain");
    let error = domain.within("call_host", detaching(20)).call(1).expect_err("it takes longer");
    assert!(is_stopped(&error), "{error}");
    assert_eq!(domain.usage().detached_ended, 0);
    assert_eq!(domain.nullary("has_done").call().unwrap(), 0);
}

/// Of two calls of one domain on a thread the inner one is not taken away from above the outer one's frames. Red without `others` in
/// `may_detach`.
#[test]
fn a_nested_call_is_stopped() {
    let _watchdog = watchdog("a nested call");
    let host = HostFunction::new(move |domain: &Domain, what: i64| {
        let error = domain.within_nullary("forever", detaching(20)).call().expect_err("it never ends");
        assert!(is_stopped(&error), "{error}");
        what + 1
    });
    let domain = Domain::new(&MODULE, options().gate("told", host)).expect("a domain");
    assert_eq!(domain.bind::<Unary>("call_host").unwrap().call(1).unwrap(), 2);
    assert_eq!(domain.usage().detached_ended, 0);
}

/// Memory that was lent for a call goes with its caller: so the call does. Red without `holds` in `hand_over`.
#[test]
fn a_call_with_lent_memory_is_stopped() {
    let _watchdog = watchdog("a call with lent memory");
    let (domain, _told) = domain(options());
    let region = Region::new(4096).expect("memory");
    let through: Function<extern "C" fn(Pointer<u8>) -> i64> =
        domain.bind_within("through", Policy::default(), detaching(20)).expect("a function");
    let error = domain.lend(&region, Rights::Read, |lent| through.call(lent.pointer(0).expect("a pointer")));
    let error = error.expect("lent").expect_err("it takes longer");
    assert!(is_stopped(&error), "{error}");
    assert_eq!(domain.usage().detached_ended, 0);
    // What was lent before is no reason.
    let error = domain.within("spin", detaching(20)).call(1).expect_err("it takes longer");
    assert!(is_detached(&error), "{error}");
}

/// What a call does wrong on its own is the domain's, and no caller's: it is counted, and the domain goes on.
#[test]
fn a_fault_of_a_detached_call_is_told() {
    let _watchdog = watchdog("a fault of a detached call");
    let (domain, _told) = domain(options());
    for (number, (name, kind)) in
        [("crash_later", FaultKind::Segv), ("exit_later", FaultKind::Exit(3))].into_iter().enumerate()
    {
        domain.nullary("begin").call().unwrap();
        let error = domain.within_nullary(name, detaching(20)).call().expect_err(name);
        assert!(is_detached(&error), "{error}");
        domain.nullary("let_go").call().unwrap();
        let number = number as u64 + 1;
        domain.until_ended(number);
        let fault = domain.detached_fault().expect("a fault");
        assert_eq!(fault.kind(), kind, "{fault}");
        assert!(fault.to_string().contains(name), "{fault}");
        assert_eq!(domain.usage().detached_failed, number);
    }
    assert_eq!(domain.nullary("has_done").call().unwrap(), 0);
}

/// None goes on for ever. Red without a limit in `Binding::going_on`.
#[test]
fn a_detached_call_has_a_limit_of_its_own() {
    let _watchdog = watchdog("a detached call without end");
    for options in
        [options().detached_limit(Duration::from_millis(50)), options().time_limit(Duration::from_millis(70))]
    {
        let (domain, _told) = domain(options);
        let error = domain.within_nullary("forever", detaching(20)).call().expect_err("it never ends");
        assert!(is_detached(&error), "{error}");
        domain.until_ended(1);
        let fault = domain.detached_fault().expect("a fault");
        assert_eq!(fault.kind(), FaultKind::TimeOut, "{fault}");
    }
    // A server that wants none has none; and the domain's own limit counts where it is shorter.
    for options in [options().detached_limit(Duration::ZERO), options().time_limit(Duration::from_millis(20))]
    {
        let (domain, _told) = domain(options);
        let error = domain.within_nullary("forever", detaching(20)).call().expect_err("it never ends");
        assert!(is_stopped(&error), "{error}");
        assert_eq!(domain.usage().detached_ended, 0);
    }
}

/// The next call is a new thread's, as far as the module is concerned. Red if the caller has its stacks still.
#[test]
fn the_callers_next_call_has_storage_of_its_own() {
    let _watchdog = watchdog("thread-local storage");
    let (domain, told) = domain(options());
    domain.bind::<Unary>("leave").unwrap().call(5).unwrap();
    assert_eq!(domain.nullary("my_own").call().unwrap(), 5);
    let threads = domain.usage().threads;
    domain.within("spin", detaching(20)).call(9).expect_err("it takes longer");
    assert_eq!(domain.nullary("my_own").call().unwrap(), 0);
    assert_eq!(domain.usage().threads, threads + 1);
    domain.bind::<Unary>("leave").unwrap().call(6).unwrap();
    domain.nullary("let_go").call().unwrap();
    assert_eq!(told.recv().expect("a word").0, 9);
    domain.until_ended(1);
    assert_eq!(domain.nullary("my_own").call().unwrap(), 6);
    while domain.usage().threads > threads {
        std::thread::yield_now();
    }
}

/// No domain has more threads than it may: a call that goes on has its caller's place. Red if that is not counted.
#[test]
fn a_detached_call_counts_as_a_thread() {
    let _watchdog = watchdog("a limit of threads");
    let (domain, told) = domain(options().thread_limit(2));
    let spin = domain.within("spin", detaching(20));
    for n in 1..=2 {
        let error = spin.call(n).expect_err("it takes longer");
        assert!(is_detached(&error), "{error}");
    }
    let error = spin.call(3).expect_err("no place");
    assert!(matches!(error, CallError::Threads { .. }), "{error}");
    assert_eq!((domain.usage().detached, domain.usage().threads), (2, 2));
    // The host writes what no thread has a place to.
    domain.kill();
    domain.until_ended(2);
    drop(told);
}

/// Many at once, of several callers, each with its own sum.
#[test]
fn many_go_on_at_once() {
    let _watchdog = watchdog("many detached calls");
    let (domain, told) = domain(options().memory_limit(256 << 20));
    let (callers, calls) = (4, 6);
    std::thread::scope(|threads| {
        for caller in 0..callers {
            let domain = &domain;
            threads.spawn(move || {
                let spin = domain.within("spin", detaching(2));
                for call in 0..calls {
                    let error = spin.call(1 << (caller * calls + call)).expect_err("it takes longer");
                    assert!(is_detached(&error), "{error}");
                }
            });
        }
    });
    let all = callers * calls;
    assert_eq!(domain.usage().detached, all as u32);
    domain.nullary("let_go").call().unwrap();
    let sum: i64 = (0..all).map(|_| told.recv().expect("a word").0).sum();
    assert_eq!(sum, (1 << all) - 1);
    domain.until_ended(all as u64);
    assert_eq!(domain.usage().detached_failed, 0);
}

/// A kill, a close, the handle's end: a detached call does not outlive its domain. Red if its thread does not count as the domain's own.
#[test]
fn a_detached_call_ends_with_its_domain() {
    let _watchdog = watchdog("the end of a domain");
    type End = fn(Domain);
    let end: [(&str, End); 3] = [("kill", |domain| domain.kill()), ("close", Domain::close), ("drop", drop)];
    for (what, end) in end {
        let (domain, _told) = domain(options());
        let keeps = domain.keep();
        let has_done = domain.nullary("has_done");
        domain.within_nullary("forever", detaching(20)).call().expect_err("it never ends");
        while domain.threads_inside() == 0 {
            std::thread::yield_now();
        }
        end(domain);
        keeps.until_ended(1);
        let error = has_done.call().expect_err(what);
        assert!(matches!(error, CallError::Killed(_)), "{what}: {error}");
        let fault = keeps.detached_fault().expect(what);
        assert_eq!(fault.kind(), FaultKind::Killed, "{what}: {fault}");
    }
}

/// No reset while one goes on, and one behind it.
#[test]
fn a_domain_is_reset_behind_its_detached_call() {
    let _watchdog = watchdog("a reset");
    let (mut domain, told) = domain(options());
    domain.within("spin", detaching(20)).call(3).expect_err("it takes longer");
    domain.reset().expect_err("it is in use");
    domain.nullary("let_go").call().unwrap();
    assert_eq!(told.recv().expect("a word").0, 3);
    domain.until_ended(1);
    while domain.reset().is_err() {
        std::thread::yield_now();
    }
    assert_eq!(domain.nullary("has_done").call().unwrap(), 0);
    let usage = domain.usage();
    assert_eq!((usage.detached, usage.detached_ended, usage.threads), (0, 0, 1));
}

/// The next instance has nothing of it, and a call of it is none of the last one's.
#[test]
fn a_restart_ends_a_detached_call() {
    let _watchdog = watchdog("a restart");
    let (server, _told) = domain(options());
    let registry = Registry::new();
    let export = Export::new("forever", Version::new(1, 0)).of("long forever(void)").allow(Allow::Everyone);
    registry.export(&server, export).expect("exported");
    let request = Request::newest("forever").rebind(Rebind::Yes).within(detaching(20));
    let forever: Function<Nullary> = registry.bind(&Principal::process(), &request).expect("bound");
    for _ in 0..2 {
        let error = forever.call().expect_err("it never ends");
        assert!(is_detached(&error), "{error}");
        registry.restart("server").expect("restarted");
    }
    server.until_ended(1);
    assert_eq!(server.usage().detached, 0);
    let error = forever.call().expect_err("it never ends");
    assert!(is_detached(&error), "{error}");
}

/// A forked child has neither the call nor its domain; in the parent it goes on.
#[test]
fn a_detached_call_outlives_a_fork() {
    let _watchdog = watchdog("a fork");
    let (domain, told) = domain(options());
    let spin = domain.within("spin", detaching(20));
    spin.call(3).expect_err("it takes longer");
    let forked = in_child_of(false, || match spin.call(4) {
        Err(CallError::Forked) if domain.usage().detached == 0 => Ok(()),
        other => Err(format!("{other:?}")),
    });
    forked.expect("a child that ends well");
    domain.nullary("let_go").call().unwrap();
    assert_eq!(told.recv().expect("a word").0, 3);
    domain.until_ended(1);
}

/// Signals of the host's come all the time, to the caller and to the thread that takes over. Red if one may come between what a gate has found and what
/// it does.
#[test]
fn signals_come_while_calls_are_handed_over() {
    let _watchdog = watchdog("signals and detached calls");
    let (domain, told) = domain(options());
    let expected = domain.bind::<Unary>("sum").unwrap().call(40_000).unwrap();
    let sum = domain.within("sum_and_tell", detaching(1));
    let mut detached = 0;
    signal_storm_every(libc::SIGUSR2, 100_000, || {
        for _ in 0..60 {
            match sum.call(40_000) {
                Ok(found) => assert_eq!(found, expected),
                Err(error) => {
                    assert!(is_detached(&error), "{error}");
                    detached += 1;
                }
            }
            assert_eq!(told.recv().expect("a word").0, expected);
        }
    });
    domain.until_ended(detached);
    assert!(detached > 0 && domain.usage().detached_failed == 0, "{detached}");
}

/// A handler that looks for its callers finds none of a call that was given away, and one that ends its thread ends nothing else. Red without
/// `has_no_caller` in `hand_over`: frame information of the gate's leads to the stack that was the other thread's, and is gone with its call.
#[test]
fn handlers_unwind_while_calls_are_handed_over() {
    let _watchdog = watchdog("unwinding and detached calls");
    let (domain, told) = domain(options());
    let mut ended = 0;
    for round in 0..20 {
        let threads = domain.usage().threads;
        // Behind the handover, when the call that was given away is over, and its stack.
        let is_over = || {
            let usage = domain.usage();
            let is_given_away = usage.detached > 0 || usage.detached_ended > round;
            while is_given_away && domain.usage().threads > threads {
                std::thread::yield_now();
            }
            is_given_away
        };
        ended += u64::from(is_ended_where_handlers_are_let_in(libc::SIGUSR2, is_over, || {
            let error =
                domain.within("sum_and_tell", detaching(2)).call(150_000).expect_err("it takes longer");
            assert!(is_detached(&error), "{error}");
        }));
        told.recv().expect("a word");
        domain.until_ended(round + 1);
    }
    assert!(ended > 0, "no handler came");
    assert_eq!(domain.usage().detached_failed, 0);
}

/// Bindings need no handle, nor do their calls that go on, which end by themselves.
#[test]
fn a_detached_call_needs_no_handle() {
    let _watchdog = watchdog("the end of a handle");
    let (domain, _told) = domain(options().detached_limit(Duration::from_millis(50)));
    let (keeps, forever) = (domain.keep(), domain.within_nullary("forever", detaching(20)));
    drop(domain);
    let error = forever.call().expect_err("it never ends");
    assert!(is_detached(&error), "{error}");
    drop(forever);
    keeps.until_ended(1);
    assert_eq!(keeps.detached_fault().expect("a fault").kind(), FaultKind::TimeOut);
}

/// What keeps a domain for a moment does not end it. Red if a function's domain comes as a handle.
#[test]
fn a_functions_domain_is_no_handle() {
    let (domain, told) = domain(options());
    let let_go = domain.bind_dynamic("long let_go(void)").expect("a function");
    domain.within("spin", detaching(20)).call(3).expect_err("it takes longer");
    drop(let_go.domain());
    let_go.call(&[]).expect("it lives");
    assert_eq!(told.recv().expect("a word").0, 3);
    domain.until_ended(1);
}

/// Where there is no memory for a thread, or for what it needs, a call is stopped; the process goes on. Red with std's threads, which end the process
/// without a mapping for their alternate stacks.
#[test]
fn a_call_is_stopped_where_mappings_run_out() {
    let _watchdog = watchdog("mappings");
    // (A child would wait for another test's thread that makes it.)
    LazyLock::force(&MODULE);
    let child = in_child_of(false, || {
        let (domain, _told) = domain(options().detached_limit(Duration::from_millis(200)));
        let spin = domain.within("spin", detaching(2));
        let (mut detached, mut stopped) = (0, 0);
        let full = AllMappings::taken();
        // One after the other, and then enough.
        for left in (1..12).chain([40]) {
            full.gives_back_up_to(left);
            let error = spin.call(1).expect_err("it takes longer");
            match () {
                () if is_detached(&error) => detached += 1,
                () if is_stopped(&error) => stopped += 1,
                // (The caller has no stacks in the domain, whose own went with its last call.)
                () if matches!(error, CallError::Memory(_) | CallError::ThreadInit { .. }) => {}
                () => return Err(format!("{left} left: {error}")),
            }
            while domain.usage().detached > 0 {
                std::thread::yield_now();
            }
        }
        match detached > 0 && stopped > 0 {
            true => Ok(()),
            false => Err(format!("{detached} detached, {stopped} stopped")),
        }
    });
    child.expect("a child that goes on");
}

/// A caller that ends leaves its call behind.
#[test]
fn a_caller_may_end_first() {
    let _watchdog = watchdog("the end of a caller");
    let (domain, told) = domain(options());
    std::thread::scope(|threads| {
        threads.spawn(|| domain.within("spin", detaching(20)).call(4).expect_err("it takes longer"));
    });
    domain.nullary("let_go").call().unwrap();
    assert_eq!(told.recv().expect("a word").0, 4);
    domain.until_ended(1);
}

/// A call has its turn until it ends, and no other begins in its middle. Red if the turn stays with the caller, or with none.
#[test]
fn a_detached_call_keeps_its_turn() {
    let _watchdog = watchdog("turns");
    for options in
        [options().exclusive(Duration::from_millis(30)), options().serialize(Duration::from_millis(30))]
    {
        let (domain, _told) = domain(options.detached_limit(Duration::from_millis(300)));
        domain.within_nullary("forever", detaching(20)).call().expect_err("it never ends");
        let error = domain.nullary("has_done").call().expect_err("it is busy");
        assert!(matches!(error, CallError::Busy(..)), "{error}");
        std::thread::scope(|threads| {
            let other = threads.spawn(|| domain.nullary("has_done").call().expect_err("it is busy"));
            assert!(matches!(other.join().expect("a thread"), CallError::Busy(..)));
        });
        domain.until_ended(1);
        assert_eq!(domain.nullary("has_done").call().unwrap(), 0);
    }
}

/// A domain that calls another one has the value of a failure, and goes on; and the other one's call, too.
#[test]
fn a_call_between_domains_goes_on() {
    const CLIENT: &str = "long spin(long); long ask(long n) { return spin(n) + 1; }";
    let _watchdog = watchdog("a call between domains");
    let (server, told) = domain(options());
    let client = Guest::c(CLIENT).gate("long spin(long)").module();
    let client = Domain::new(&client, DomainOptions::new().name("client")).expect("a domain");
    let registry = Registry::new();
    let export = Export::new("spin", Version::new(1, 0)).of("long spin(long)").allow(Allow::Everyone);
    registry.export(&server, export).expect("exported");
    let request = Request::newest("spin").within(detaching(20)).on_failure(OnFailure::Return(40));
    registry.link(&client, "spin", &Principal::domain("client"), &request).expect("linked");
    let ask = client.bind::<Unary>("ask").unwrap();
    assert_eq!(ask.call(11).unwrap(), 41);
    assert_eq!((server.usage().detached, client.usage().detached), (1, 0));
    server.nullary("let_go").call().unwrap();
    assert_eq!(told.recv().expect("a word").0, 11);
    server.until_ended(1);
    assert_eq!(ask.call(12).unwrap(), 13);
}

/// A limit of the caller's own, without detachment, stops the call, in a domain that has none.
#[test]
fn a_limit_of_the_callers_stops_a_call() {
    let _watchdog = watchdog("a caller's limit");
    let (domain, _told) = domain(options());
    let limit = CallLimit::new(Duration::from_millis(20));
    let error = domain.within_nullary("forever", limit).call().expect_err("it never ends");
    assert!(is_stopped(&error), "{error}");
    let error = domain.within("await", limit).call(1).expect_err("it sleeps");
    assert!(is_stopped(&error), "{error}");
}

/// Time of a call that could be left behind, by what could be done about it, and time from a limit to the caller's error.
#[test]
#[ignore = "a measurement"]
fn measure_what_a_detachable_call_costs() {
    use std::time::Instant;
    const CALLS: u32 = 20_000;
    let (plain, _told) = domain(options());
    let (limited, _told) = domain(options().time_limit(Duration::from_secs(60)));
    let workers = Workers::new(1, 1).expect("a worker");
    let functions = [
        plain.bind::<Nullary>("has_done").unwrap(),
        limited.bind::<Nullary>("has_done").unwrap(),
        plain.within_nullary("has_done", detaching(60_000)),
    ];
    let each = |work: &mut dyn FnMut(), calls: u32| {
        let begun = Instant::now();
        (0..calls).for_each(|_| work());
        begun.elapsed().as_nanos() as u64 / u64::from(calls)
    };
    let late = |limit: CallLimit| {
        let begun = Instant::now();
        plain.within_nullary("forever", limit).call().expect_err("it never ends");
        (begun.elapsed() - Duration::from_millis(20)).as_micros() as u64
    };
    let mut rounds: [Vec<u64>; 6] = Default::default();
    for _ in 0..15 {
        for (function, times) in functions.iter().zip(&mut rounds) {
            times.push(each(&mut || _ = function.call().unwrap(), CALLS));
        }
        let mut handed = || _ = functions[0].call_async(&workers).unwrap().wait().unwrap();
        rounds[3].push(each(&mut handed, CALLS / 20));
        rounds[4].push(late(CallLimit::new(Duration::from_millis(20))));
        let (ended, before) = (plain.usage().detached_ended, plain.usage().detached);
        rounds[5].push(late(detaching(20)));
        assert_eq!((plain.usage().detached_ended, plain.usage().detached), (ended, before + 1));
    }
    const WHAT: [&str; 6] = [
        "a call, ns",
        "with the domain's limit, ns",
        "with a caller's limit that detaches, ns",
        "on a thread of the server's, ns",
        "from a limit to the error, stopped, us",
        "from a limit to the error, detached, us",
    ];
    for (what, mut times) in WHAT.into_iter().zip(rounds) {
        times.sort_unstable();
        println!("{what}: median {}, {} to {}", times[times.len() / 2], times[0], times[times.len() - 1]);
    }
    plain.kill();
}
