//! Calls that are ended while they hold a lock of libc's: whoever wants it next is told, or goes on, and waits in no case (docs/limits.md).

use crate::common::{Guest, host_sys, watchdog};
use lockgate::syscall::{Access, Grants};
use lockgate::{CallError, Domain, DomainOptions, FaultKind, Function, HostFunction, Module, Workers};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, LazyLock, Mutex, OnceLock};
use std::time::Duration;

/// `hold` never returns from under lock `which`, `want` does what waits for it, and `one` does something that takes one for a moment.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <grp.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
void ready(void);
void meet(void);
int membarrier(int, int);
int pthread_setattr_default_np(const pthread_attr_t *);
/* Of libc's inside. */
int __lg_meeting(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned), __lg_meet(pthread_barrier_t *);
void __tl_lock(void), __tl_unlock(void), __inhibit_ptc(void), __acquire_ptc(void), __vm_lock(void);
extern struct { volatile int shared, busy; } lg_bias;

static volatile int is_over;
int end(int how) { return is_over = how; }
static void *nothing(void *unused) { return unused; }
static int start(void) {
    pthread_t thread;
    int error = pthread_create(&thread, 0, nothing, 0);
    return error ? error : pthread_detach(thread);
}
static int key(void) {
    pthread_key_t key;
    int error = pthread_key_create(&key, free);
    if (error) return error;
    pthread_setspecific(key, malloc(1));
    return pthread_key_delete(key);
}
static int attributes(void) {
    pthread_attr_t attributes;
    return pthread_attr_init(&attributes) || pthread_setattr_default_np(&attributes);
}
static int unmap(void) { return munmap(mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096); }
/* (There are no policies here: the new thread is told to end, while it waits for its maker.) */
static int scheduled(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    return pthread_attr_init(&attributes) || pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED) ||
           !pthread_create(&thread, &attributes, nothing, 0);
}
static void expired(union sigval value) { (void)value; }
static int timed(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expired};
    /* (Its threads end later: there may be no room for one.) */
    return !timer_create(CLOCK_MONOTONIC, &event, &timer) && timer_delete(timer);
}
static int read_later(void) {
    int ends[2];
    char byte = 0;
    if (pipe(ends) || write(ends[1], &byte, 1) != 1) return errno;
    struct aiocb block = {.aio_fildes = ends[0], .aio_buf = &byte, .aio_nbytes = 1};
    if (!aio_read(&block)) {
        const struct aiocb *const list[] = {&block};
        while (aio_error(&block) == EINPROGRESS) aio_suspend(list, 1, 0);
    }
    return close(ends[0]) | close(ends[1]);
}
int one(int which) {
    switch (which) {
    case 0: return start();
    case 1: return key();
    case 2: return attributes();
    case 3: return unmap();
    case 4: return read_later();
    case 5: return scheduled();
    case 6: return timed();
    }
    return -1;
}
static void *later(void *which) { return (void *)(long)one((long)which); }
int start_and_join(int which) {
    pthread_t thread;
    return pthread_create(&thread, 0, later, (void *)(long)which) || pthread_join(thread, 0);
}
static pthread_barrier_t made;
static void *meets(void *unused) { __lg_meet(&made); return unused; }
int leave_thread(int has_timer) {
    timer_t timer;
    pthread_t thread;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expired};
    if (has_timer) return timer_create(CLOCK_MONOTONIC, &event, &timer);
    return __lg_meeting(&made, 0, 2) || pthread_create(&thread, 0, meets, 0);
}
int through(int n) { meet(); return n; }
int through_with_lock(int n) { __vm_lock(); meet(); __vm_unlock(); return n; }
/* Another thread is to end it, it says; none does, but by `go_on`. */
static int word;
int pretend(int n) {
    ready();
    while (!word) syscall(SYS_futex, &word, 0, 0, 0, 0, 0x70656572 /* FUTEX_PEERS */);
    return n;
}
int go_on(int n) { word = 1; syscall(SYS_futex, &word, 1, 1); return n; }
int many(int which) { for (;;) one(which); }
int start_and(int which) { return start() ? -1 : one(which); }
int hold(int which) {
    switch (which) {
    case 0: __tl_lock(); break;
    case 1: __inhibit_ptc(); break;
    case 2: __acquire_ptc(); break;
    case 3: __vm_lock(); break;
    case 4: lg_bias.busy = 1; break;
    }
    ready();
    for (;;) ;
}
/* Gives it back in the end. */
int borrow(int which) {
    struct timespec while_ = {0, 100000000};
    switch (which) {
    case 0: __tl_lock(); ready(); while (!is_over) ; __tl_unlock(); break;
    case 4: lg_bias.busy = 1; ready(); nanosleep(&while_, 0); lg_bias.busy = 0; break;
    }
    return which;
}
int for_all(int which) {
    struct rlimit limit = {100, 100};
    gid_t group = 0;
    switch (which) {
    case 0: return setuid(1);
    case 1: return setgroups(1, &group);
    case 2: return setrlimit(RLIMIT_CORE, &limit);
    case 3: return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
    }
    return 1;
}
int add(int n) { return n + 1; }
"#;

type Unary = extern "C" fn(i32) -> i32;

static MODULE: LazyLock<Arc<Module>> =
    LazyLock::new(|| Guest::c(SOURCE).gate("void ready(void)").gate("void meet(void)").module());

fn domain(options: DomainOptions) -> (Domain, Receiver<()>) {
    domain_that_meets(options, || ())
}

/// In the middle of `through`, it calls `meet`.
fn domain_that_meets(
    options: DomainOptions,
    meet: impl Fn() + Send + Sync + 'static,
) -> (Domain, Receiver<()>) {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let ready = HostFunction::new(move |_: &Domain| tell.lock().unwrap().send(()).unwrap_or(()));
    let grants = Grants::default().directory("/tmp", "/tmp", Access::ReadOnly).expect("a folder");
    let options = options
        .max_guest_threads(4)
        .grants(grants)
        .gate("ready", ready)
        .gate("meet", HostFunction::new(move |_: &Domain| meet()));
    (Domain::new(&MODULE, options).expect("a domain"), told)
}

fn call(domain: &Domain, name: &str, argument: i32) -> Result<i32, CallError> {
    domain.bind::<Unary>(name).expect(name).call(argument)
}

/// On a thread that has never called the domain.
fn by_another(domain: &Domain, name: &str, argument: i32) -> Result<i32, CallError> {
    std::thread::scope(|scope| scope.spawn(|| call(domain, name, argument)).join().expect("a thread"))
}

fn is_told(error: &CallError) -> bool {
    error
        .to_string()
        .contains("the module waits for a lock of its C library that a call held when it was ended")
}

const LIST: i32 = 0;
const WRITES: i32 = 1;
const READS: i32 = 2;
const UNMAPS: i32 = 3;
const BUSY: i32 = 4;
/// Of `one`.
const START: i32 = 0;
const KEY: i32 = 1;
const ATTRIBUTES: i32 = 2;
const UNMAP: i32 = 3;

/// Each lock by itself: a call that is ended holds it, and another thread wants it.
#[test]
fn a_lock_that_an_ended_call_holds_is_told() {
    let _watchdog = watchdog("a wait for a lock of libc's that nobody gives back");
    let workers = Workers::new(1, 1).unwrap();
    for (lock, name, which) in [
        (LIST, "add", 1),
        (LIST, "one", START),
        (LIST, "one", KEY),
        (WRITES, "one", START),
        (WRITES, "one", ATTRIBUTES),
        (READS, "one", ATTRIBUTES),
        (UNMAPS, "one", UNMAP),
    ] {
        let (domain, ready) = domain(DomainOptions::new());
        let known = std::thread::scope(|scope| {
            // Where the thread's own start wants the lock, nothing else is reached.
            let (go, goes) = channel();
            let domain = &domain;
            let wants = scope.spawn(move || {
                assert!(name == "add" || call(domain, "add", 1).unwrap() == 2);
                goes.recv().expect("the lock is held");
                call(domain, name, which)
            });
            while name != "add" && domain.usage().threads < 2 {
                std::thread::yield_now();
            }
            let hold = domain.bind::<Unary>("hold").unwrap();
            let held = hold.call_async(&workers, lock).unwrap();
            ready.recv().expect("it holds the lock");
            held.cancel();
            assert!(matches!(held.wait(), Err(CallError::Cancelled(_))), "{lock}");
            go.send(()).expect("the thread");
            wants.join().expect("a thread")
        });
        let error = known.expect_err("the lock is held");
        assert!(is_told(&error), "{lock}, {name}({which}): {error}");
    }
}

/// A call that is ended leaves the lock that unmapping waits for.
fn leave_lock(domain: &Domain, ready: &Receiver<()>) {
    let workers = Workers::new(1, 1).unwrap();
    let held = domain.bind::<Unary>("hold").unwrap().call_async(&workers, UNMAPS).unwrap();
    ready.recv().expect("it holds the lock");
    held.cancel();
    assert!(matches!(held.wait(), Err(CallError::Cancelled(_))));
}

/// What a domain calls in the middle of a call: a function of another domain. All come to it first.
#[derive(Clone)]
struct Meeting {
    all: Arc<Barrier>,
    calls: Arc<OnceLock<Function<Unary>>>,
    ended: Arc<Mutex<Option<Result<i32, CallError>>>>,
}

impl Meeting {
    fn new(all: &Arc<Barrier>) -> Meeting {
        Meeting { all: all.clone(), calls: Arc::default(), ended: Arc::default() }
    }

    fn domain(&self, options: DomainOptions) -> (Domain, Receiver<()>) {
        let own = self.clone();
        let meet = move || {
            own.all.wait();
            let function = own.calls.get().expect("what to call");
            *own.ended.lock().unwrap() = Some(function.call(UNMAP));
        };
        domain_that_meets(options, meet)
    }

    fn calls(&self, domain: &Domain, name: &str) {
        assert!(self.calls.set(domain.bind(name).expect(name)).is_ok());
    }

    fn ended(&self) -> Result<i32, CallError> {
        self.ended.lock().unwrap().take().expect("it has called")
    }
}

/// Two threads, each in both domains, wait for locks that are left there: each counts as one that waits in both. Red if it counts in the one only in
/// which it waits.
#[test]
fn waits_across_domains_are_told() {
    let _watchdog = watchdog("threads that wait for lost locks in two domains");
    let meetings = [(); 2].map({
        let all = Arc::new(Barrier::new(2));
        move |()| Meeting::new(&all)
    });
    let [(one, one_ready), (other, other_ready)] =
        meetings.each_ref().map(|meeting| meeting.domain(DomainOptions::new()));
    meetings[0].calls(&other, "one");
    meetings[1].calls(&one, "one");
    leave_lock(&one, &one_ready);
    leave_lock(&other, &other_ready);
    std::thread::scope(|scope| {
        for domain in [&one, &other] {
            scope.spawn(move || assert_eq!(call(domain, "through", 5).unwrap(), 5));
        }
    });
    let ended = meetings.map(|meeting| meeting.ended());
    assert!(ended.iter().all(|ended| ended.as_ref().is_err_and(is_told)), "{ended:?}");
}

/// A thread that has a domain's turn waits for a lost lock, and another one, in the domain of the lock, waits for the turn. Red if this one counts as
/// one that could give the lock back.
#[test]
fn who_waits_for_a_turn_gives_no_lock_back() {
    let _watchdog = watchdog("a thread that waits for a lock, and one for its turn");
    let all = Arc::new(Barrier::new(2));
    let [in_turn, in_lock] = [(); 2].map(|()| Meeting::new(&all));
    let (exclusive, _ready) = in_turn.domain(DomainOptions::new().exclusive(None));
    let (other, ready) = in_lock.domain(DomainOptions::new());
    in_turn.calls(&other, "one");
    in_lock.calls(&exclusive, "add");
    leave_lock(&other, &ready);
    std::thread::scope(|scope| {
        for domain in [&exclusive, &other] {
            scope.spawn(move || assert_eq!(call(domain, "through", 5).unwrap(), 5));
        }
    });
    let told = in_turn.ended();
    assert!(told.as_ref().is_err_and(is_told), "{told:?}");
    assert_eq!(in_lock.ended().expect("its turn"), UNMAP + 1);
}

/// A thread holds a lock while it calls another domain, whose code says that it waits: that ends no call of the first domain's, which waits for the
/// lock. Red if all waits count wherever they are.
#[test]
fn what_another_domain_says_ends_no_wait() {
    let _watchdog = watchdog("a wait for a lock that is given back");
    let meeting = Meeting::new(&Arc::new(Barrier::new(1)));
    let (domain, _ready) = meeting.domain(DomainOptions::new());
    let (other, pretends) = self::domain(DomainOptions::new());
    meeting.calls(&other, "pretend");
    std::thread::scope(|scope| {
        let holds = scope.spawn(|| call(&domain, "through_with_lock", 5));
        pretends.recv().expect("it holds the lock");
        let wants = scope.spawn(|| call(&domain, "one", UNMAP));
        // Longer than it takes to look at it several times.
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(call(&other, "go_on", 1).unwrap(), 1);
        assert_eq!(wants.join().expect("a thread").expect("it is given back"), 0);
        assert_eq!(holds.join().expect("a thread").unwrap(), 5);
    });
    assert_eq!(meeting.ended().unwrap(), UNMAP);
}

/// A call waits for the end of a thread that waits for a lost lock: that ends the thread, and so the domain. Red if the call counts as one that could
/// give the lock back.
#[test]
fn who_joins_a_thread_gives_no_lock_back() {
    let _watchdog = watchdog("a call that waits for a thread, which waits for a lost lock");
    let (domain, ready) = domain(DomainOptions::new());
    leave_lock(&domain, &ready);
    let error = call(&domain, "start_and_join", UNMAP).expect_err("the thread never ends");
    assert!(is_over(&error), "{error}");
    assert_eq!(domain.guest_threads_error(is_told), Some(true));
}

/// A thread that `timer_create` has made waits for its maker, which was ended, or for the timer. Red if it counts as one that could give the lock back.
#[test]
fn a_timers_thread_gives_no_lock_back() {
    let _watchdog = watchdog("a wait for a lost lock, beside a timer's thread");
    for has_timer in [0, 1] {
        let (domain, ready) = domain(DomainOptions::new());
        assert_eq!(call(&domain, "leave_thread", has_timer).unwrap(), 0);
        leave_lock(&domain, &ready);
        let error = call(&domain, "one", UNMAP).expect_err("the lock is held");
        assert!(is_told(&error), "{has_timer}: {error}");
    }
}

/// In an exclusive domain a thread that the module has started, and that waits for its first turn, gives nothing back. Red if it counts as one inside.
#[test]
fn a_thread_that_has_not_begun_holds_nothing() {
    let _watchdog = watchdog("a wait for a lock of libc's, beside a thread that has not begun");
    let (domain, ready) = domain(DomainOptions::new().exclusive(None));
    leave_lock(&domain, &ready);
    let error = call(&domain, "start_and", UNMAP).expect_err("the lock is held");
    assert!(is_told(&error), "{error}");
}

/// The lock of keys is held while `pthread_key_delete` waits for another one.
#[test]
fn a_call_that_is_ended_with_the_lock_of_keys_is_told() {
    let _watchdog = watchdog("a wait for the lock of keys");
    let (domain, ready) = domain(DomainOptions::new());
    let workers = Workers::new(1, 1).unwrap();
    let add = domain.bind::<Unary>("add").unwrap();
    assert_eq!(add.call_async(&workers, 1).unwrap().wait().unwrap(), 2, "the worker is known");
    std::thread::scope(|scope| {
        let list = scope.spawn(|| call(&domain, "borrow", LIST));
        ready.recv().expect("it holds the list");
        let one = domain.bind::<Unary>("one").unwrap();
        let keys = one.call_async(workers.within(Duration::from_secs(1)), KEY).unwrap().wait();
        assert!(matches!(keys, Err(CallError::Deadline(_))), "{keys:?}");
        assert_eq!(call(&domain, "end", 1).unwrap(), 1);
        assert_eq!(list.join().expect("a thread").unwrap(), LIST);
    });
    let error = by_another(&domain, "one", KEY).expect_err("the lock is held");
    assert!(is_told(&error), "{error}");
}

/// The first thread is about to change a lock by plain instructions, and the second one waits for the end of that.
#[test]
fn who_is_ended_with_plain_locks_is_told() {
    let _watchdog = watchdog("a wait for the end of plain locks");
    let (domain, ready) = self::domain(DomainOptions::new());
    std::thread::scope(|scope| {
        let domain = &domain;
        let second = scope.spawn(move || {
            ready.recv().expect("it changes a lock");
            call(domain, "add", 1)
        });
        assert_eq!(call(domain, "borrow", BUSY).unwrap(), BUSY);
        assert_eq!(second.join().expect("a thread").expect("it goes on"), 2);
    });
    let (domain, _ready) = self::domain(DomainOptions::new().time_limit(Duration::from_secs(2)));
    let error = call(&domain, "hold", BUSY).unwrap_err();
    assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
    let error = by_another(&domain, "add", 1).expect_err("the first thread never ends it");
    assert!(is_told(&error), "{error}");
}

/// Ends calls anywhere in functions that take locks for a moment.
#[test]
fn calls_that_end_in_functions_that_lock_keep_nobody_waiting() {
    const FUNCTIONS: i32 = 7;
    const ROUNDS: u64 = 40;
    let _watchdog = watchdog("a call that another one's end keeps waiting");
    let workers = Workers::new(1, 1).unwrap();
    for which in 0..FUNCTIONS {
        let (domain, _ready) = domain(DomainOptions::new());
        assert_eq!(by_another(&domain, "one", which).unwrap(), 0, "{which}");
        let many = domain.bind::<Unary>("many").unwrap();
        for round in 0..ROUNDS {
            let within = workers.within(Duration::from_micros(2000 + 137 * round));
            let ended = many.call_async(within, which).unwrap().wait();
            let next = match ended {
                Err(CallError::Deadline(_)) => by_another(&domain, "add", 1),
                other => other,
            };
            match next {
                Ok(sum) => assert_eq!(sum, 2, "{which}, {round}"),
                Err(error) if is_told(&error) || is_over(&error) => break,
                Err(error) => panic!("{which}, {round}: {error}"),
            }
        }
    }
}

/// A thread of the module's own was told, which ends its domain: before the call, or while it runs.
fn is_over(error: &CallError) -> bool {
    let fault = error.fault().map(|fault| fault.kind());
    matches!(error, CallError::Killed(_)) || matches!(fault, Some(FaultKind::Killed))
}

/// musl has each thread change its own user, by a signal; a thread that has called and left never takes one.
#[test]
fn what_is_done_for_all_threads_waits_for_none() {
    let _watchdog = watchdog("a call that waits for threads that are not there");
    let (domain, _ready) = domain(DomainOptions::new());
    for which in 0..4 {
        let done = by_another(&domain, "for_all", which).unwrap();
        assert_eq!(done, if which == 3 { 0 } else { -1 }, "{which}");
    }
    let output = crate::common::in_child("libc_locks::child_without_membarrier");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by what_is_done_for_all_threads_waits_for_none"]
fn child_without_membarrier() {
    let _watchdog = watchdog("a barrier that waits for threads that are not there");
    let module = &*MODULE;
    host_sys::refuse_system_call(libc::SYS_membarrier);
    let ready = HostFunction::new(|_: &Domain| ());
    let meet = HostFunction::new(|_: &Domain| ());
    let options = DomainOptions::new().gate("ready", ready).gate("meet", meet);
    let domain = Domain::new(module, options).expect("a domain");
    assert_eq!(by_another(&domain, "for_all", 3).unwrap(), -1);
}

/// A thread of the module's own ends with libc's list of threads locked, which is free when whoever waits for its end is told: that it has left
/// the domain by then is no sign that the lock is lost.
#[test]
fn a_thread_that_ends_holds_its_lock_until_that_is_told() {
    const STARTS: &str = "
        #include <pthread.h>
        void leave(void);
        void out(long);
        static void *body(void *unused) { leave(); out(0); return unused; }
        int start(int unused) { pthread_t thread; return pthread_create(&thread, 0, body, 0) || pthread_detach(thread) || unused; }
        int add(int n) { return n + 1; }";
    const STAYS: &str = "
        #include <pthread.h>
        void stay(void);
        static void last(void *unused) { (void)unused; stay(); }
        int leave(int n) { pthread_key_t key; return pthread_key_create(&key, last) || pthread_setspecific(key, &n); }";
    let _watchdog = watchdog("a thread that ends slowly");
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let stay = HostFunction::new(move |_: &Domain| {
        tell.lock().unwrap().send(()).expect("the test");
        std::thread::sleep(Duration::from_millis(300));
    });
    let stays = Guest::c(STAYS).gate("void stay(void)").module();
    let stays = Domain::new(&stays, DomainOptions::new().gate("stay", stay)).unwrap();
    let stays = stays.bind::<Unary>("leave").unwrap();
    let leave = HostFunction::new(move |_: &Domain| assert_eq!(stays.call(1).unwrap(), 0));
    let starts = Guest::c(STARTS).gate("void leave(void)").gate("void out(long)").module();
    let options = DomainOptions::new().max_guest_threads(1);
    let options = options.gate("leave", leave).gate("out", host_sys::thread_exit());
    let starts = Domain::new(&starts, options).unwrap();
    assert_eq!(call(&starts, "start", 0).unwrap(), 0);
    told.recv().expect("it has left the domain");
    assert_eq!(by_another(&starts, "add", 1).expect("the list of threads is free again"), 2);
}
