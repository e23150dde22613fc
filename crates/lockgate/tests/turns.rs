//! Programs that run and are called meanwhile: calls enter between the turns of their own threads (docs/programs.md). What a turn must not see is
//! `a` and `b` apart: a thread that is let in at another time loses counts.

use crate::common::host_sys::{thread_number, until_it_waits_for_its_turn};
use crate::common::{Guest, watchdog};
use lockgate::syscall::Grants;
use lockgate::{
    CallError, Domain, DomainOptions, FaultKind, Function, KeptDomain, Module, OnFailure, Pointer, Policy,
    Program, ProgramEnd, ProgramSignals,
};
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, LazyLock};
use std::thread::{JoinHandle, scope};
use std::time::Duration;

const SOURCE: &str = r#"
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile long a, b, own;
static volatile int stopped, goes_on;
/* Not atomic, and slow. */
static void half(volatile long *n) {
    long x = *n;
    for (volatile int i = 0; i < 200; i++) ;
    *n = x + 1;
}
static void step(void) { half(&a); half(&b); }
/* System calls that a server makes in the middle of a command: time, memory, files, a lock that is free by now. */
static void work(void) {
    static int free_by_now;
    struct timespec t;
    getppid();
    clock_gettime(CLOCK_REALTIME, &t);
    munmap(mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    close(open("/none", O_RDONLY));
    syscall(SYS_futex, &free_by_now, 0, 1, 0);
}
long bump(void) { if (a != b) return -1; step(); return a == b ? a : -1; }
long bump_often(long n) { for (; n > 0; n--) if (bump() < 0) return -1; return a; }
long count(void) { return a; }
long stop(void) { return stopped = 1; }
long let_go(void) { return goes_on = 1; }
long doze(long milliseconds) { step(); struct timespec t = { 0, milliseconds * 1000000 }; nanosleep(&t, 0); return bump(); }
long read_byte(void) { char c; step(); if (read(0, &c, 1) != 1) return -2; return bump(); }
long hog(void) { step(); a++; while (!goes_on) ; a--; return bump(); }
long grow(long n) { char *p = malloc(n); if (!p) return -1; memset(p, 1, n); return (long)p; }
long open_null(void) { return open("/data/null", O_RDONLY); }
long burn(long n) { for (volatile long i = 0; i < n; i++) ; return n; }
/* Whose turn it is, for handlers, which are in the middle of their own thread's, and of no other's. */
static __thread char me;
static char *volatile whose;
static volatile int wrong;
long bump_openly(void) { whose = &me; long n = bump(); whose = 0; return wrong ? -1 : n; }
static void handler(int signal) {
    (void)signal;
    char *was = whose;
    if (was && was != &me) wrong = 1;
    whose = &me;
    for (volatile int i = 0; i < 1000; i++) ;
    if (whose != &me) wrong = 1;
    whose = was;
    char c = '!';
    write(1, &c, 1);
}
static char *volatile first;
static sigjmp_buf again;
static void jumper(int signal) {
    (void)signal;
    char c = '!';
    write(1, &c, 1);
    if (&me == first) siglongjmp(again, 1);
}
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static void *thread(void *n) { for (long i = 0; i < (long)n; i++) { step(); own++; usleep(1); } return 0; }
static volatile int in_turn;
volatile int *turn(void) { return &in_turn; }
long had_turn(void) { return in_turn; }
static volatile int held;
volatile int *is_held(void) { return &held; }
long hold(void) { held = 1; while (!goes_on) ; return 1; }
static void wait_and_tell(void) { char c; read(0, &c, 1); in_turn = 1; }
/* Takes a byte for each step; the loop ends with the input. */
static int take(void) {
    char c;
    ssize_t got = read(0, &c, 1);
    if (got != 1) return 0;
    step();
    own++;
    return 1;
}
static int loop(char how) {
    struct pollfd one = { 0, POLLIN, 0 };
    struct epoll_event event = { EPOLLIN, { 0 } };
    int set = how == 'e' ? epoll_create1(0) : -1;
    if (how == 'e') epoll_ctl(set, EPOLL_CTL_ADD, 0, &event);
    do {
        fd_set in;
        FD_ZERO(&in);
        FD_SET(0, &in);
        struct timespec t = { 0, 100000 };
        switch (how) {
        case 'e': epoll_wait(set, &event, 1, -1); break;
        case 'p': poll(&one, 1, -1); break;
        case 's': select(1, &in, 0, 0, 0); break;
        case 'n': nanosleep(&t, 0); break;
        case 'f':
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_nsec += 100000;
            if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
            pthread_mutex_lock(&mutex);
            pthread_cond_timedwait(&condition, &mutex, &t);
            pthread_mutex_unlock(&mutex);
            break;
        }
    } while (take());
    return 0;
}
static void *reads(void *unused) { loop('r'); return unused; }
int main(int argc, char **argv) {
    (void)argc;
    pthread_t threads[3];
    struct timespec t = { 0, 100000 };
    switch (argv[1][0]) {
    case 'b': write(1, "!", 1); while (!stopped) { step(); own++; sched_yield(); } break;   /* never sleeps, but says where it might */
    case 'm': for (nanosleep(&t, 0); !stopped; poll(0, 0, 0)) { half(&a); work(); half(&b); own++; } break;
    case 'z': t.tv_nsec = 0;                                          /* its time is over at once */
    case 'q': nanosleep(&t, 0); while (!stopped) { step(); own++; poll(0, 0, 0); } break;
    case 'w': wait_and_tell(); break;
    case 'h': wait_and_tell(); hog(); return 5;                       /* has its turn until it is let go */
    case 'c': wait_and_tell(); a++; while (!goes_on) ; *(volatile char *)8 = 1;
    case 'g':
        signal(SIGUSR1, handler);
        signal(SIGUSR2, jumper);
        sigsetjmp(again, 1);
        first = &me;
        for (;;) { char c; if (read(0, &c, 1) == 0) break; }
        break;
    case 't':
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, thread, (void *)200);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
        loop('r');
        break;
    case 'x': pthread_create(&threads[0], 0, reads, 0); pthread_exit(0);
    default: loop(argv[1][0]);
    }
    return a == b && own <= a ? 0 : 1;
}
"#;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).module());

type Count = extern "C" fn() -> i64;
type OfNumber = extern "C" fn(i64) -> i64;

/// A program that runs on a thread of its own.
struct Running {
    domain: KeptDomain,
    signals: ProgramSignals,
    thread: JoinHandle<ProgramEnd>,
    /// What it reads.
    input: PipeWriter,
    output: PipeReader,
}

/// What it is made with, but for the time that others wait for their turns.
fn program(how: &str, options: DomainOptions) -> (Program, PipeWriter, PipeReader) {
    let ((stdin, input), (output, stdout)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    let grants =
        Grants::default().stdin(OwnedFd::from(stdin)).unwrap().stdout(OwnedFd::from(stdout)).unwrap();
    let options = options.name("server").arguments(["server", how]).grants(grants);
    (Program::new(&MODULE, options).unwrap(), input, output)
}

impl Running {
    fn new(how: &str, options: DomainOptions) -> Running {
        let running = Running::starting(how, options);
        assert!(running.signals.wait_until_begun());
        running
    }

    fn starting(how: &str, options: DomainOptions) -> Running {
        let (program, input, output) = program(how, options);
        let (domain, signals) = (program.domain(), program.signals());
        let thread = std::thread::Builder::new().name("server".to_owned());
        let thread = thread.spawn(move || program.run()).unwrap();
        Running { domain, signals, thread, input, output }
    }

    fn function(&self, name: &str) -> Function<Count> {
        self.domain.bind(name).unwrap()
    }

    fn of_number(&self, name: &str) -> Function<OfNumber> {
        self.domain.bind(name).unwrap()
    }

    /// Its input ends, and so does it.
    #[track_caller]
    fn ends_well(self) {
        drop(self.input);
        assert_eq!(self.thread.join().unwrap().outcome.unwrap(), 0);
    }
}

fn serialized() -> DomainOptions {
    DomainOptions::new().serialize(None).max_guest_threads(3)
}

/// Waits until `is_so`, which another thread brings about.
fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

/// However the program sleeps, a call enters while it does, and not in between.
#[test]
fn calls_enter_while_the_program_sleeps() {
    let _watchdog = watchdog("a program's turns");
    for how in ["e", "p", "s", "r", "n", "f"] {
        let mut server = Running::new(how, serialized());
        let bump = server.function("bump");
        const CALLERS: i64 = 3;
        const CALLS: i64 = 300;
        scope(|scope| {
            for _ in 0..CALLERS {
                scope.spawn(|| {
                    for _ in 0..CALLS {
                        assert!(bump.call().unwrap() > 0, "{how}: in the middle of a turn");
                    }
                });
            }
            for _ in 0..CALLS {
                server.input.write_all(b"x").unwrap();
            }
        });
        let count = server.function("count");
        until(|| count.call().unwrap() == (CALLERS + 1) * CALLS);
        server.ends_well();
    }
}

/// System calls in the middle of a turn are not its end, whoever waits.
#[test]
fn no_call_enters_at_a_system_call_in_the_middle_of_a_turn() {
    let _watchdog = watchdog("a turn with system calls");
    let server = Running::starting("m", serialized());
    assert!(server.signals.wait_until_begun());
    let bump = server.function("bump");
    scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..300).for_each(|_| assert!(bump.call().unwrap() > 0, "it has entered a turn")));
        }
    });
    server.function("stop").call().unwrap();
    server.ends_well();
}

/// A program that waits without having to sleep gives turns to those who wait, and gets its own all the same. Red (without an end) if it has begun only
/// when it has slept: time that is over before the thread sleeps, as any short one is on a busy machine, is no sleep.
#[test]
fn a_busy_program_and_its_callers_take_turns() {
    let _watchdog = watchdog("a busy program's turns");
    for how in ["b", "q", "z"] {
        let mut server = Running::starting(how, serialized());
        if how == "b" {
            // It never sleeps: its host knows by its word that it has begun.
            server.output.read_exact(&mut [0]).unwrap();
            server.signals.begin();
        }
        assert!(server.signals.wait_until_begun());
        let bump = server.function("bump");
        scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..300).for_each(|_| assert!(bump.call().unwrap() > 0)));
            }
        });
        let before = server.function("count").call().unwrap();
        until(|| server.function("count").call().unwrap() > before);
        server.function("stop").call().unwrap();
        server.ends_well();
    }
}

/// Callers that leave no moment free do not keep a program from its turns.
#[test]
fn callers_that_hammer_leave_the_program_its_turns() {
    let _watchdog = watchdog("turns among callers");
    let mut server = Running::new("e", serialized());
    let (count, stop) = (server.function("count"), AtomicBool::new(false));
    scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    count.call().unwrap();
                }
            });
        }
        server.input.write_all(&[b'x'; 500]).unwrap();
        until(|| count.call().unwrap() == 500);
        stop.store(true, Ordering::Relaxed);
    });
    server.ends_well();
}

/// A program that has slept has its turn before the caller that has been in its way calls again: a thread calls many times more quickly than another
/// wakes. (A caller that the machine leaves alone for a millisecond is overdue itself, and may go first: not each time.)
#[test]
fn who_has_slept_goes_first() {
    let _watchdog = watchdog("a program that wakes");
    assert!((0..5).any(|_| !is_overtaken()), "it was overtaken, each time");
}

/// Whether the caller goes first.
fn is_overtaken() -> bool {
    // (Callers wait for no moment, so how soon the program wakes does not matter.)
    let (program, mut input, _output) = program("w", DomainOptions::new().serialize(Duration::ZERO));
    let (domain, signals) = (program.domain(), program.signals());
    let (tells, number) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        tells.send(thread_number()).unwrap();
        program.run()
    });
    assert!(signals.wait_until_begun());
    let [hold, had_turn] = ["hold", "had_turn"].map(|name| domain.bind::<Count>(name).unwrap());
    let held = flag(&domain, "is_held");
    scope(|scope| {
        let calls = scope.spawn(|| {
            assert_eq!(hold.call().unwrap(), 1);
            had_turn.call()
        });
        until(|| domain.read(held).unwrap().trust("a flag of the test's") == 1);
        input.write_all(b"x").unwrap();
        until_it_waits_for_its_turn(number.recv().unwrap());
        let_go(&domain);
        let told = calls.join().unwrap();
        assert_eq!(thread.join().unwrap().outcome.unwrap(), 0);
        match told {
            Ok(told) => told != 1,
            // It has, or will have, its turn, or has ended after it.
            Err(CallError::Busy(..) | CallError::Killed(_)) => false,
            Err(error) => panic!("{error}"),
        }
    })
}

/// A visiting call that sleeps lets others in, too; the program's own threads are among them.
#[test]
fn a_call_that_sleeps_lets_others_in() {
    let _watchdog = watchdog("turns of calls that sleep");
    let server = Running::new("e", serialized());
    let (doze, bump, read) =
        (server.of_number("doze"), server.function("bump"), server.function("read_byte"));
    scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| assert!(doze.call(1).unwrap() > 0)));
        }
        (0..200).for_each(|_| assert!(bump.call().unwrap() > 0));
    });
    drop(read);
    server.ends_well();
}

#[test]
fn threads_of_the_program_take_turns() {
    let _watchdog = watchdog("turns of a program's threads");
    let server = Running::new("t", serialized());
    let bump = server.function("bump");
    (0..300).for_each(|_| assert!(bump.call().unwrap() > 0));
    let count = server.function("count");
    until(|| count.call().unwrap() == 300 + 3 * 200);
    server.ends_well();
}

/// The handler of a program's own signal interrupts the turn of the thread that it runs on, as anywhere, and that of no other.
#[test]
fn handlers_of_the_program_run_in_its_turn() {
    let _watchdog = watchdog("a handler in a turn");
    let mut server = Running::new("g", serialized());
    let bump = server.function("bump_openly");
    let stop = AtomicBool::new(false);
    let calls = AtomicUsize::new(0);
    scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert!(bump.call().unwrap() > 0);
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..100 {
            let signal = if round % 4 == 0 { libc::SIGUSR2 } else { libc::SIGUSR1 };
            assert!(server.signals.send(signal as u32));
            server.output.read_exact(&mut [0]).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(server.function("count").call().unwrap(), calls.into_inner() as i64);
    server.ends_well();
}

#[test]
fn a_program_takes_no_calls_before_its_first_sleep() {
    let (program, input, _output) = program("e", serialized());
    let (domain, signals) = (program.domain(), program.signals());
    let bump = domain.bind::<Count>("bump").unwrap();
    assert!(matches!(bump.call().unwrap_err(), CallError::NotBegun(name) if name == "server"));
    signals.begin();
    assert!(matches!(bump.call().unwrap_err(), CallError::NotBegun(_)), "it does not run");
    let thread = std::thread::spawn(move || program.run());
    assert!(signals.wait_until_begun());
    assert!(bump.call().unwrap() > 0);
    drop(input);
    assert_eq!(thread.join().unwrap().outcome.unwrap(), 0);
    assert!(matches!(bump.call().unwrap_err(), CallError::Killed(_)), "nobody serves");
}

/// Without a turn: for functions that are made for it.
fn let_go(domain: &KeptDomain) {
    use lockgate::{Allow, Export, Principal, Registry, Request, Version};
    let registry = Registry::new();
    let export = Export::new("let_go", Version::new(1, 0)).of("long let_go(void)");
    registry.export(domain, export.allow(Allow::Everyone).serialize(false)).unwrap();
    let let_go = registry.bind::<Count>(&Principal::nobody(), &Request::newest("let_go")).unwrap();
    assert_eq!(let_go.call().unwrap(), 1, "it waits for nobody");
}

/// A flag of the program's, whose address this function of its tells, at the latest when its first sleep has begun.
fn flag(domain: &KeptDomain, name: &str) -> Pointer<i32> {
    let address = domain.bind::<extern "C" fn() -> Pointer<i32>>(name).unwrap();
    loop {
        match address.call() {
            Ok(address) => break address,
            Err(error) => assert!(matches!(error, CallError::Busy(..)), "{error}"), // it is about to sleep
        }
    }
}

/// A program that has its turn for good, with this time for those who wait. The calling thread is known to it.
fn stuck(how: &str, timeout: impl Into<Option<Duration>>) -> Running {
    let mut server = Running::new(how, DomainOptions::new().serialize(timeout));
    let turn = flag(&server.domain, "turn");
    server.input.write_all(b"x").unwrap();
    until(|| server.domain.read(turn).unwrap().trust("a flag of the test's") == 1);
    server
}

#[test]
fn who_waits_in_vain_learns_who_has_the_turn() {
    let _watchdog = watchdog("a turn without end");
    let server = stuck("h", Duration::from_millis(10));
    let error = server.function("count").call().unwrap_err();
    let CallError::Busy(domain, holder) = &error else { panic!("{error}") };
    assert_eq!((domain.as_str(), holder.name.as_str()), ("server", "server"));
    let text = error.to_string();
    assert!(text.ends_with(&format!(": thread {} (server) has it", holder.thread)), "{text}");
    let_go(&server.domain);
    assert_eq!(server.thread.join().unwrap().outcome.unwrap(), 5);
}

/// Callers that wait without end, of a program that ends in each of these ways, learn that.
#[test]
fn a_program_that_ends_leaves_nobody_waiting() {
    let _watchdog = watchdog("callers of a program that ends");
    for (how, kill) in [("h", false), ("c", false), ("h", true)] {
        let server = stuck(how, None);
        let waiting = server.function("bump");
        let begun = Barrier::new(4);
        scope(|scope| {
            let call = || {
                begun.wait();
                waiting.call()
            };
            let calls: Vec<_> = (0..3).map(|_| scope.spawn(call)).collect();
            begun.wait();
            match kill {
                true => server.signals.kill(),
                false => let_go(&server.domain),
            }
            for call in calls {
                match call.join().unwrap() {
                    Ok(count) => assert!(count > 0 && how == "h" && !kill, "after its turn"),
                    Err(CallError::Killed(_)) => {}
                    Err(error) => assert_eq!(error.fault().unwrap().kind(), FaultKind::Killed, "{error}"),
                }
            }
        });
        assert_eq!(server.thread.join().unwrap().outcome.is_ok(), how == "h" && !kill);
        assert!(matches!(waiting.call().unwrap_err(), CallError::Killed(_)));
    }
}

/// Nor one that its host drops.
#[test]
fn a_program_that_is_never_run_leaves_nobody_waiting() {
    let _watchdog = watchdog("a program that is never run");
    let (program, _input, _output) = program("e", serialized());
    let (domain, signals) = (program.domain(), program.signals());
    drop(program);
    assert!(!signals.wait_until_begun());
    assert!(domain.bind::<Count>("count").unwrap().call().is_err());
}

/// A program goes on, and takes calls, when its first thread has left it to others.
#[test]
fn a_program_whose_first_thread_leaves_goes_on() {
    let _watchdog = watchdog("a program without its first thread");
    for _ in 0..20 {
        let mut server = Running::new("x", serialized());
        let count = server.function("count");
        let before = count.call().unwrap();
        server.input.write_all(b"x").unwrap();
        until(|| count.call().unwrap() == before + 1);
        server.ends_well();
    }
}

/// Nor does its own way out hide that the host has ended the rest.
#[test]
fn a_program_whose_first_thread_has_left_can_be_killed() {
    let _watchdog = watchdog("a program without its first thread, which is killed");
    for _ in 0..20 {
        let server = Running::new("x", serialized());
        server.function("count").call().unwrap();
        server.signals.kill();
        match server.thread.join().unwrap().outcome {
            Err(CallError::Killed(_)) => {}
            Err(error) => {
                assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::Killed), "{error}")
            }
            Ok(status) => panic!("it has not ended by itself: {status}"),
        }
    }
}

/// What ends a call that sleeps without the domain leaves the domain to who has it by then.
#[test]
fn a_call_that_ends_in_its_sleep_takes_no_turn_from_others() {
    let _watchdog = watchdog("calls that end in their sleep");
    let server = Running::new("e", serialized());
    let client = Guest::c("long sleeps(void); long sleep_within(void) { return sleeps(); }")
        .gate("long sleeps(void)")
        .domain_with(DomainOptions::new().time_limit(Duration::from_millis(5)));
    client
        .link("sleeps", &server.domain, "long read_byte(void)", Policy::default(), OnFailure::default())
        .unwrap();
    let sleep = client.bind::<Count>("sleep_within").unwrap();
    let bump = server.function("bump");
    let stop = AtomicBool::new(false);
    scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert!(bump.call().unwrap() > 0, "somebody else was let in");
                }
            });
        }
        for _ in 0..20 {
            let error = sleep.call().unwrap_err();
            assert_eq!(error.fault().unwrap().kind(), FaultKind::TimeOut, "{error}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    server.ends_well();
}

/// The caller's own limits end its wait.
#[test]
fn a_wait_for_a_turn_ends_with_its_caller() {
    let _watchdog = watchdog("callers that end");
    let server = stuck("h", None);
    let caller = |options| {
        let client =
            Guest::c("long theirs(void); long ask(void) { return theirs(); } long one(void) { return 1; }")
                .gate("long theirs(void)")
                .domain_with(options);
        client
            .link("theirs", &server.domain, "long bump(void)", Policy::default(), OnFailure::default())
            .unwrap();
        client
    };
    let limited = caller(DomainOptions::new().time_limit(Duration::from_millis(20)));
    let ask = limited.bind::<Count>("ask").unwrap();
    let error = ask.call().unwrap_err();
    assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
    let killed = caller(DomainOptions::new());
    let ask = killed.bind::<Count>("ask").unwrap();
    scope(|scope| {
        let asks = scope.spawn(|| ask.call());
        until(|| killed.threads_inside() > 0);
        killed.kill();
        asks.join().unwrap().unwrap_err();
    });
    let_go(&server.domain);
    assert_eq!(server.thread.join().unwrap().outcome.unwrap(), 5);
}

/// A call that comes back into a program in the middle of its own turn is refused at once; so is one of two that wait for each other.
#[test]
fn a_chain_that_comes_back_is_refused() {
    let _watchdog = watchdog("a chain of calls");
    let source = r#"
        #include <unistd.h>
        static volatile long inside;
        long next(long);
        long visit(long n) { if (inside) return -5; inside = 1; long r = n > 0 ? next(n - 1) : 1; inside = 0; return r; }
        int main(void) { char c; read(0, &c, 1); return 0; }"#;
    let module = Guest::c(source).gate("long next(long)").module();
    let start = |name: &str| {
        let (stdin, input) = std::io::pipe().unwrap();
        let grants = Grants::default().stdin(OwnedFd::from(stdin)).unwrap();
        let program =
            Program::new(&module, DomainOptions::new().name(name).grants(grants).serialize(None)).unwrap();
        (program, input)
    };
    let ((one, one_input), (two, two_input)) = (start("one"), start("two"));
    let (first, second) = (one.domain(), two.domain());
    let link = |from: &Domain, to: &Domain| {
        from.link("next", to, "long visit(long)", Policy::default(), OnFailure::Return(-9_i64 as u64))
            .unwrap();
    };
    link(&first, &second);
    link(&second, &first);
    let (one_signals, two_signals) = (one.signals(), two.signals());
    let threads = [std::thread::spawn(move || one.run()), std::thread::spawn(move || two.run())];
    assert!(one_signals.wait_until_begun() && two_signals.wait_until_begun());
    let visits = [&first, &second].map(|domain| domain.bind::<OfNumber>("visit").unwrap());
    assert_eq!(visits[0].call(1).unwrap(), 1);
    assert_eq!(visits[0].call(2).unwrap(), -9, "it would come back");
    scope(|scope| {
        for visit in &visits {
            scope.spawn(move || {
                for _ in 0..500 {
                    assert!([1, -9].contains(&visit.call(1).unwrap()), "one of two gives way");
                }
            });
        }
    });
    drop((one_input, two_input));
    for thread in threads {
        assert_eq!(thread.join().unwrap().outcome.unwrap(), 0);
    }
}

/// As many visitors as a domain has room for, beside its own thread; one more learns why not.
#[test]
fn all_visitors_that_there_is_room_for() {
    let _watchdog = watchdog("many visitors");
    let mut server = Running::new("e", serialized().memory_limit(512 << 20));
    let bump = server.function("bump");
    const VISITORS: usize = 62;
    let (all, over) = (Barrier::new(VISITORS + 1), Barrier::new(VISITORS + 1));
    scope(|scope| {
        for _ in 0..VISITORS {
            scope.spawn(|| {
                (0..20).for_each(|_| assert!(bump.call().unwrap() > 0));
                all.wait();
                over.wait();
            });
        }
        server.input.write_all(&[b'x'; 100]).unwrap();
        all.wait();
        let error = scope.spawn(|| bump.call()).join().unwrap().unwrap_err();
        assert!(matches!(error, CallError::Threads { .. }), "{error}");
        over.wait();
    });
    let count = server.function("count");
    until(|| count.call().unwrap() == 100 + 20 * VISITORS as i64);
    server.ends_well();
}

/// Memory, descriptors and processor time of a visiting thread count for the domain that it visits, and for nobody else.
#[test]
fn a_visitors_use_is_the_visited_domains() {
    let folder = tempfile::tempdir().unwrap();
    File::create(folder.path().join("null")).unwrap();
    let (stdin, input) = std::io::pipe().unwrap();
    let grants = Grants::default().stdin(OwnedFd::from(stdin)).unwrap();
    let grants = grants.directory("/data", folder.path(), lockgate::syscall::Access::ReadOnly).unwrap();
    let options = DomainOptions::new().name("server").arguments(["server", "e"]).grants(grants);
    let program =
        Program::new(&MODULE, options.serialize(None).descriptor_limit(8).measure_cpu_time()).unwrap();
    let (domain, signals) = (program.domain(), program.signals());
    let thread = std::thread::spawn(move || program.run());
    assert!(signals.wait_until_begun());
    let client = Guest::c(
        "long grow(long); long open_null(void); long burn(long);
         long theirs(long n) { return grow(n); } long opens(void) { return open_null(); } long burns(long n) { return burn(n); }",
    )
    .gate("long grow(long)")
    .gate("long open_null(void)")
    .gate("long burn(long)")
    .domain_with(DomainOptions::new().descriptor_limit(4).measure_cpu_time());
    for (name, prototype) in
        [("grow", "long grow(long)"), ("open_null", "long open_null(void)"), ("burn", "long burn(long)")]
    {
        client.link(name, &domain, prototype, Policy::default(), OnFailure::Propagate).unwrap();
    }
    let (theirs, opens, burns) = (
        client.bind::<OfNumber>("theirs").unwrap(),
        client.bind::<Count>("opens").unwrap(),
        client.bind::<OfNumber>("burns").unwrap(),
    );
    assert!(opens.call().unwrap() > 0);
    let (before, own) = (domain.usage(), client.usage());
    const MEGABYTE: i64 = 1 << 20;
    assert!(theirs.call(4 * MEGABYTE).unwrap() > 0);
    let (after, own_after) = (domain.usage(), client.usage());
    assert!(after.memory >= before.memory + 4 * MEGABYTE as u64);
    assert_eq!(own_after.memory, own.memory);
    let mut opened = 0;
    while opens.call().unwrap() > 0 {
        opened += 1;
    }
    assert!(opened > 0 && domain.usage().descriptors == 8, "its own limit holds");
    assert_eq!(client.usage().descriptors, own.descriptors);
    let time = |domain: &Domain| domain.usage().cpu_time.unwrap();
    let (before, own) = (time(&domain), time(&client));
    while time(&domain) < before + Duration::from_millis(50) {
        burns.call(1_000_000).unwrap();
    }
    assert!(time(&client) - own < Duration::from_millis(40), "what it waits for is not its own");
    drop(input);
    assert_eq!(thread.join().unwrap().outcome.unwrap(), 0);
}

/// Servers that are killed at any moment while callers hammer them, themselves or through a program of their own.
#[test]
fn kills_at_any_moment() {
    let _watchdog = watchdog("kills in the middle of turns");
    for round in 0..40 {
        let mut server = Running::new(["e", "q", "r", "t"][round % 4], serialized());
        let (bump, doze) = (server.function("bump"), server.of_number("doze"));
        scope(|scope| {
            let calls: Vec<_> = (0..3)
                .map(|caller| {
                    let (bump, doze) = (&bump, &doze);
                    scope.spawn(move || {
                        loop {
                            match if caller == 0 { doze.call(1) } else { bump.call() } {
                                Ok(count) => assert!(count > 0),
                                Err(error) => break error,
                            }
                        }
                    })
                })
                .collect();
            (0..round * 3).for_each(|_| drop(server.input.write_all(b"x")));
            server.signals.kill();
            for call in calls {
                let error = call.join().unwrap();
                let is_end = matches!(error, CallError::Killed(_))
                    || error.fault().is_some_and(|fault| fault.kind() == FaultKind::Killed);
                assert!(is_end, "{error}");
            }
        });
        server.thread.join().unwrap().outcome.unwrap_err();
    }
}

/// Whoever has the turn may be in a function of the host's, for as long as that likes: the end of the domain reaches those who wait all the same.
#[test]
fn a_kill_reaches_those_who_wait_for_a_turn() {
    let _watchdog = watchdog("a turn in the host");
    let (reached, leave) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let host = {
        let (reached, leave) = (reached.clone(), leave.clone());
        lockgate::HostFunction::new(move |_: &Domain| {
            reached.wait();
            leave.wait();
        })
    };
    let server = Guest::c("void host(void); void hold(void) { host(); } long one(void) { return 1; }")
        .gate("void host(void)")
        .domain_with(DomainOptions::new().serialize(None).gate("host", host));
    let (hold, one) = (server.bind::<extern "C" fn()>("hold").unwrap(), server.bind::<Count>("one").unwrap());
    scope(|scope| {
        let holds = scope.spawn(|| hold.call());
        reached.wait();
        let waits = scope.spawn(|| one.call());
        server.kill();
        assert!(matches!(waits.join().unwrap().unwrap_err(), CallError::Killed(_)));
        leave.wait();
        holds.join().unwrap().unwrap_err();
    });
}
