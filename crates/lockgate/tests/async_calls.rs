//! Asynchronous calls: workers, queues, cancellation, deadlines (docs/limits.md).

use crate::common::{Guest, host_sys, watchdog};
use lockgate::{
    AsyncCall, CallError, CreateError, Domain, DomainOptions, HostFunction, Module, Pool, Workers,
};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const SOURCE: &str = r#"
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>
int host(int);
static int word;
static volatile int spins;
int add(int a, int b) { return a + b; }
int stay(int how) {
    struct timespec minute = {60, 0};
    switch (how) {
    case 0: for (;;) spins++;
    case 1: return nanosleep(&minute, 0);
    case 2: return syscall(SYS_futex, &word, 0, 0, 0);
    }
    return how;
}
int back(int how) { return host(how); }
int abort_now(void) { __builtin_trap(); }
"#;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).gate("int host(int)").module());

type Unary = extern "C" fn(i32) -> i32;
type Binary = extern "C" fn(i32, i32) -> i32;

fn domain(name: &str) -> Domain {
    Domain::new(&MODULE, DomainOptions::new().name(name)).expect("a domain")
}

/// Waits until somebody is in the domain.
fn until_entered(domain: &Domain) {
    while domain.usage().calls == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn calls_return_their_results() {
    let workers = Workers::new(3, 200).unwrap();
    let domain = domain("guest");
    let add = domain.bind::<Binary>("add").unwrap();
    let pending: Vec<_> = (0..100).map(|n| add.call_async(&workers, n, 1).unwrap()).collect();
    for (n, pending) in (0..).zip(pending) {
        assert_eq!(pending.wait().unwrap(), n + 1);
    }
    let trap = domain.bind::<extern "C" fn() -> i32>("abort_now").unwrap();
    let error = trap.call_async(&workers).unwrap().wait().unwrap_err();
    assert!(error.fault().is_some(), "{error}");
    let both = {
        let add = add.clone();
        move || Ok(add.call(1, 2)? + add.call(3, 4)?)
    };
    assert_eq!(domain.spawn_call(&workers, both).unwrap().wait().unwrap(), 10);
    let panics = domain.spawn_call(&workers, || -> Result<(), CallError> { panic!("a test") }).unwrap();
    assert!(matches!(panics.wait(), Err(CallError::Panic(_))));
    assert_eq!(add.call_async(&workers, 1, 1).unwrap().wait().unwrap(), 2, "workers survive");
}

#[test]
fn handles_tell_whether_the_call_has_ended() {
    let workers = Workers::new(1, 10).unwrap();
    let domain = domain("guest");
    let stay = domain.bind::<Unary>("stay").unwrap();
    let pending = stay.call_async(&workers, 1).unwrap();
    assert!(pending.try_get().is_none());
    assert!(pending.wait_timeout(Duration::from_millis(5)).is_none());
    assert!(!pending.has_ended());
    pending.cancel();
    let result = pending.wait_timeout(Duration::from_secs(60)).expect("it was cancelled");
    assert!(matches!(result, Err(CallError::Cancelled(_))), "{result:?}");
    assert!(pending.has_ended() && pending.try_get().is_none(), "the result is given once");
    pending.cancel();
}

#[test]
fn each_domain_has_a_queue_of_bounded_length() {
    let _watchdog = watchdog("a full queue");
    let workers = Workers::new(1, 2).unwrap();
    let (busy, other) = (domain("busy"), domain("other"));
    let stay = busy.bind::<Unary>("stay").unwrap();
    let running = stay.call_async(&workers, 1).unwrap();
    until_entered(&busy);
    let waiting: Vec<_> = (0..2).map(|_| stay.call_async(&workers, 9).unwrap()).collect();
    let full = stay.call_async(&workers, 9);
    assert!(matches!(full, Err(CallError::QueueFull { limit: 2, .. })), "{full:?}");
    let add = other.bind::<Binary>("add").unwrap();
    let elsewhere = add.call_async(&workers, 2, 2).expect("another domain's queue");
    assert_eq!(workers.pending(), 4);
    waiting[0].cancel();
    let again = stay.call_async(&workers, 8).expect("a cancelled call leaves its place");
    running.cancel();
    assert_eq!(elsewhere.wait().unwrap(), 4);
    assert_eq!(again.wait().unwrap(), 8);
    let ends: Vec<_> = waiting.into_iter().map(AsyncCall::wait).collect();
    assert!(matches!(&ends[..], [Err(CallError::Cancelled(_)), Ok(9)]), "{ends:?}");
}

/// In a loop, asleep, in a futex: the cancelled call ends, another one in the same domain does not.
#[test]
fn cancelling_ends_one_call_only() {
    let _watchdog = watchdog("a cancelled call");
    let workers = Workers::new(2, 10).unwrap();
    for how in 0..3 {
        let domain = domain("guest");
        let stay = domain.bind::<Unary>("stay").unwrap();
        let neighbour = stay.call_async(&workers, how).unwrap();
        let pending = stay.call_async(&workers, how).unwrap();
        while domain.usage().calls < 2 {
            std::thread::yield_now();
        }
        // (Left to itself, none would end before the test's timeout.)
        pending.cancel();
        let result = pending.wait();
        assert!(matches!(result, Err(CallError::Cancelled(_))), "{how}: {result:?}");
        assert!(neighbour.wait_timeout(Duration::from_millis(20)).is_none(), "{how}: the neighbour goes on");
        neighbour.cancel();
        assert!(matches!(neighbour.wait(), Err(CallError::Cancelled(_))));
        assert_eq!(stay.call_async(&workers, 9).unwrap().wait().unwrap(), 9, "the workers are free again");
    }
}

/// However many wait: those that end, or are taken back, in whatever order, are looked for by number. Red, by the watchdog, where each is looked
/// for among all.
#[test]
fn calls_leave_long_queues_at_once() {
    const MANY: usize = 200_000;
    let _watchdog = watchdog("calls that leave a long queue");
    let workers = Workers::new(1, MANY).unwrap();
    let domain = domain("guest");
    let (add, stay) = (domain.bind::<Binary>("add").unwrap(), domain.bind::<Unary>("stay").unwrap());
    let first = stay.call_async(&workers, 1).unwrap();
    until_entered(&domain);
    let hour = Duration::from_secs(3600);
    let pending: Vec<_> =
        (0..MANY as i32).map(|n| add.call_async(workers.within(hour), n, 1).unwrap()).collect();
    let (left, taken) = pending.split_at(MANY / 2);
    taken.iter().rev().for_each(AsyncCall::cancel);
    first.cancel();
    assert!(taken.iter().all(AsyncCall::has_ended));
    for (n, pending) in (0..).zip(left) {
        let result = pending.wait_timeout(hour).expect("it ends");
        assert_eq!(result.unwrap(), n + 1);
    }
}

/// A host function is never interrupted; the call ends when it returns.
#[test]
fn a_call_cancelled_in_a_host_function_ends_after_it() {
    let _watchdog = watchdog("a call in a host function");
    let (entered, wait_entered) = channel();
    let (go, wait_go) = channel::<()>();
    let (entered, wait_go) = (Mutex::new(entered), Mutex::new(wait_go));
    let finished = Arc::new(AtomicBool::new(false));
    let seen = finished.clone();
    let host = HostFunction::new(move |_: &Domain, how: i32| {
        entered.lock().unwrap().send(()).unwrap();
        wait_go.lock().unwrap().recv().unwrap();
        seen.store(true, Ordering::SeqCst);
        how
    });
    let workers = Workers::new(1, 1).unwrap();
    let domain = Domain::new(&MODULE, DomainOptions::new().gate("host", host)).unwrap();
    let back = domain.bind::<Unary>("back").unwrap();
    let pending = back.call_async(&workers, 3).unwrap();
    wait_entered.recv().unwrap();
    pending.cancel();
    assert!(pending.wait_timeout(Duration::from_millis(20)).is_none());
    go.send(()).unwrap();
    assert!(matches!(pending.wait(), Err(CallError::Cancelled(_))));
    assert!(finished.load(Ordering::SeqCst));
}

#[test]
fn deadlines_end_calls_that_run_and_calls_that_wait() {
    let _watchdog = watchdog("a call with a deadline");
    let workers = Workers::new(1, 10).unwrap();
    let domain = domain("guest");
    let stay = domain.bind::<Unary>("stay").unwrap();
    for how in 0..3 {
        let limit = Duration::from_millis(30);
        let occupies = stay.call_async(&workers, how).unwrap();
        until_entered(&domain);
        let begun = Instant::now();
        let result = stay.call_async(workers.within(limit), 9).unwrap().wait();
        assert!(matches!(result, Err(CallError::Deadline(_))), "{how}: {result:?}");
        assert!(begun.elapsed() >= limit, "{how}: {:?}", begun.elapsed());
        assert!(!occupies.has_ended(), "it does not wait for the worker");
        occupies.cancel();
        assert!(matches!(occupies.wait(), Err(CallError::Cancelled(_))));
        // On a busy machine many are late: one of some is not.
        let late = |begun: Instant| begun.elapsed().checked_sub(limit).expect("not before its deadline");
        let in_time = (0..30).any(|_| {
            let begun = Instant::now();
            let result = stay.call_async(workers.within(limit), how).unwrap().wait();
            assert!(matches!(result, Err(CallError::Deadline(_))), "{how}: {result:?}");
            late(begun) < Duration::from_millis(150)
        });
        assert!(in_time, "{how}: all of them are late");
    }
    let quick = stay.call_async(workers.within(Duration::from_secs(60)), 9).unwrap();
    assert_eq!(quick.wait().unwrap(), 9);
}

struct Eventcount(std::thread::Thread, AtomicU32);

impl Wake for Eventcount {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

#[test]
fn handles_are_futures() {
    let workers = Workers::new(1, 10).unwrap();
    let domain = domain("guest");
    let stay = domain.bind::<Unary>("stay").unwrap();
    let mut pending = stay.call_async(&workers, 1).unwrap();
    let eventcount = Arc::new(Eventcount(std::thread::current(), AtomicU32::new(0)));
    let waker = Waker::from(eventcount.clone());
    let mut context = Context::from_waker(&waker);
    assert!(Pin::new(&mut pending).poll(&mut context).is_pending());
    assert_eq!(eventcount.1.load(Ordering::SeqCst), 0);
    pending.cancel();
    while eventcount.1.load(Ordering::SeqCst) == 0 {
        std::thread::park();
    }
    match Pin::new(&mut pending).poll(&mut context) {
        Poll::Ready(Err(CallError::Cancelled(_))) => {}
        other => panic!("{other:?}"),
    }
}

/// Who waits for the end may reset the domain then, or give it back to its pool: no worker holds it any more. Red, in some of a hundred rounds,
/// if the end is told before.
#[test]
fn who_knows_of_the_end_has_the_domain() {
    let _watchdog = watchdog("calls that wait for each other");
    let module = Guest::c("long twice(long x) { return 2 * x; }").export("long twice(long)").module();
    let workers = Workers::new(2, 100).unwrap();
    let mut domain = Domain::new(&module, DomainOptions::new()).unwrap();
    let pool = Pool::new(&module, DomainOptions::new(), 1);
    let twice = |domain: &Domain| domain.bind::<extern "C" fn(i64) -> i64>("twice").unwrap();
    for round in 0..300 {
        let to = workers.within(Duration::from_secs(3600));
        let pending = if round % 2 == 0 {
            twice(&domain).call_async(&workers, round).unwrap()
        } else {
            let function = twice(&domain);
            domain.spawn_call(to, move || function.call(round)).unwrap()
        };
        assert_eq!(pending.wait().unwrap(), 2 * round);
        assert_eq!(workers.pending(), 0);
        domain.reset().unwrap();
        let pooled = pool.take().unwrap();
        // (Its handle does not hold the domain, either.)
        let pending = twice(&pooled).call_async(to, round).unwrap();
        assert!(pending.wait_timeout(Duration::MAX).unwrap().is_ok());
        drop(pooled);
        assert_eq!(pool.ready(), 1, "round {round}");
        drop(pending);
    }
    // Nor does the clock, or who cancels, of what never began.
    let (begun, begins) = channel();
    let (go_on, goes_on) = channel::<()>();
    let goes_on = Mutex::new(goes_on);
    let other = Domain::new(&module, DomainOptions::new()).unwrap();
    let few = Workers::new(1, 100).unwrap();
    let busy = other.spawn_call(&few, move || {
        begun.send(()).unwrap();
        Ok(goes_on.lock().unwrap().recv().is_err())
    });
    begins.recv().unwrap();
    for round in 0..300 {
        let late = twice(&domain).call_async(few.within(Duration::from_micros(round)), 1).unwrap();
        if round % 2 == 0 {
            late.cancel();
        }
        late.wait().expect_err("the worker is busy");
        domain.reset().unwrap();
    }
    drop(go_on);
    assert!(busy.unwrap().wait().unwrap());
}

#[test]
fn dropping_workers_cancels_and_finishing_waits() {
    let _watchdog = watchdog("the end of workers");
    let domain = domain("guest");
    let stay = domain.bind::<Unary>("stay").unwrap();
    let workers = Workers::new(1, 10).unwrap();
    let calls: Vec<_> = [1, 9].map(|how| stay.call_async(&workers, how).unwrap()).into();
    until_entered(&domain);
    drop(workers);
    for call in calls {
        let result = call.wait();
        assert!(matches!(result, Err(CallError::Cancelled(_))), "{result:?}");
    }
    let workers = Workers::new(2, 100).unwrap();
    let calls: Vec<_> = (5..50).map(|how| stay.call_async(&workers, how).unwrap()).collect();
    workers.finish();
    assert!(calls.iter().all(AsyncCall::has_ended));
    assert_eq!(calls.into_iter().map(|call| call.wait().unwrap()).sum::<i32>(), (5..50).sum::<i32>());
}

/// A function of the host's waits for the very call that has called it, without end: it learns of it. Red if it waits: the call and its workers never
/// end, whatever deadline they have.
#[test]
fn no_call_waits_for_its_own_end() {
    let _watchdog = watchdog("a wait for the call itself");
    let own: Arc<Mutex<Option<AsyncCall<i32>>>> = Arc::default();
    let (ready, told) = (channel(), channel());
    let (gone_on, found) = (Mutex::new(ready.1), Mutex::new(told.0));
    let waits = own.clone();
    let host = HostFunction::new(move |_: &Domain, how: i32| {
        gone_on.lock().unwrap().recv().expect("the handle");
        let call = waits.lock().unwrap().take().expect("the handle");
        assert!(call.wait_timeout(Duration::from_millis(1)).is_none(), "it goes on");
        found.lock().unwrap().send(call.wait()).expect("the test");
        how
    });
    let domain = Domain::new(&MODULE, DomainOptions::new().gate("host", host)).unwrap();
    let back = domain.bind::<Unary>("back").unwrap();
    let workers = Workers::new(1, 10).unwrap();
    *own.lock().unwrap() = Some(back.call_async(&workers, 7).unwrap());
    ready.0.send(()).unwrap();
    let found = told.1.recv().unwrap();
    assert!(matches!(found, Err(CallError::OwnEnd(_))), "{found:?}");
    workers.finish();
}

/// What panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

/// A result that nobody takes goes on its worker. If code of the host's there ends the thread, another takes its place.
#[test]
fn results_that_nobody_takes_end_no_worker() {
    let _watchdog = watchdog("a result that nobody takes");
    let workers = Workers::new(1, 8).unwrap();
    let domain = domain("guest");
    // Each goes on only after its handle has gone: a result that is there before goes with the handle, on this thread.
    let (go, wait_go) = channel::<()>();
    drop(domain.spawn_call(&workers, move || wait_go.recv().map(|()| Bomb).map_err(|_| unreachable!())));
    go.send(()).unwrap();
    let add = domain.bind::<Binary>("add").unwrap();
    assert_eq!(add.call_async(&workers, 1, 2).unwrap().wait().unwrap(), 3);
    let (go, wait_go) = channel::<()>();
    drop(domain.spawn_call(&workers, move || -> Result<(), CallError> {
        wait_go.recv().expect("the test");
        std::panic::panic_any(Bomb)
    }));
    go.send(()).unwrap();
    assert_eq!(add.call_async(&workers, 1, 3).unwrap().wait().unwrap(), 4);
    // One that is there already goes with the handle.
    let there = domain.spawn_call(&workers, || Ok(Bomb)).unwrap();
    while !there.has_ended() {
        std::thread::yield_now();
    }
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(there))).expect_err("it panics");
    assert_eq!(add.call_async(&workers, 1, 4).unwrap().wait().unwrap(), 5);
}

/// Where the last worker ends in a function of the host's, and the system gives no thread in its place, what comes later has one. Red if
/// workers are started by others of them only: it waits for ever.
#[test]
fn calls_that_come_when_no_worker_is_left_have_one() {
    let _watchdog = watchdog("a call without workers");
    let workers = Workers::new(1, 8).unwrap();
    let source =
        "void leave(long); long end(long x) { leave(x); return x; } int add(int a, int b) { return a + b; }";
    let module = Guest::c(source).gate("void leave(long)").module();
    let domain = Domain::new(&module, DomainOptions::new().gate("leave", host_sys::thread_exit())).unwrap();
    // The worker's own thread is the one that would start another.
    let refuse = || {
        [libc::SYS_clone, libc::SYS_clone3].into_iter().for_each(host_sys::refuse_system_call);
        Ok(())
    };
    domain.spawn_call(&workers, refuse).unwrap().wait().unwrap();
    let end = domain.bind::<extern "C" fn(i64) -> i64>("end").unwrap();
    let lost = end.call_async(&workers, 1).unwrap().wait();
    assert!(lost.is_err(), "{lost:?}");
    let add = domain.bind::<Binary>("add").unwrap();
    assert_eq!(add.call_async(&workers, 1, 2).unwrap().wait().unwrap(), 3);
    workers.finish();
}

#[test]
fn killed_domains_and_workers_of_nothing_are_errors() {
    for (threads, capacity) in [(0, 1), (1, 0)] {
        let error = Workers::new(threads, capacity).err().expect("nothing cannot work");
        assert!(matches!(error, CreateError::Option { .. }), "{error}");
    }
    let workers = Workers::new(1, 1).unwrap();
    let domain = domain("guest");
    let stay = domain.bind::<Unary>("stay").unwrap();
    let pending = stay.call_async(&workers, 0).unwrap();
    until_entered(&domain);
    domain.kill();
    assert!(pending.wait().unwrap_err().fault().is_some());
    let refused = stay.call_async(&workers, 9).unwrap().wait();
    assert!(matches!(refused, Err(CallError::Killed(_))), "{refused:?}");
}
