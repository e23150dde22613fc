//! Limits of domains, and what they have used of them (docs/limits.md).

use crate::common::{Guest, host_sys, processor_time, watchdog};
use lockgate::syscall::{Access, Grants};
use lockgate::{
    Allow, CallError, CreateError, Domain, DomainOptions, Export, FaultKind, HostFunction, Module, OnFailure,
    Policy, Principal, Registry, Request, Revoke, Version, Workers,
};
use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, LazyLock};
use std::time::{Duration, Instant};

const SOURCE: &str = r#"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int inner(int which);
static int word;
static int spin(int milliseconds) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < milliseconds);
    return 0;
}
int stay(int which) {
    struct timespec minute = {60, 0};
    int ends[2] = {-1, -1};
    char byte;
    switch (which) {
    case 0: return nanosleep(&minute, 0);
    case 1: return pipe(ends) || read(ends[0], &byte, 1);
    case 2: { struct pollfd one = {pipe(ends) ? -1 : ends[0], POLLIN, 0}; return poll(&one, 1, -1); }
    case 3: return syscall(SYS_futex, &word, 0, 0, 0);
    case 4: for (;;) ;
    case 5: spin(250); return nanosleep(&minute, 0);
    }
    return 7;
}
long stay_long(long which) { return stay(which); }
int via(int which) { return inner(which); }
int burn(int milliseconds) { return spin(milliseconds); }
int descriptors(void) { int n = 0; while (dup(0) >= 0) n++; return errno == EMFILE ? n : -1; }
int allowed(void) { return sysconf(_SC_OPEN_MAX); }
int grow_and_shrink(int bytes) { char *p = malloc(bytes); if (!p) return 0; memset(p, 1, bytes); free(p); return 1; }
"#;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).gate("int inner(int)").module());

type Unary = extern "C" fn(i32) -> i32;

fn domain(options: DomainOptions) -> Domain {
    let grants = Grants::default().directory("/tmp", "/tmp", Access::ReadOnly).expect("a folder");
    crate::common::started(&MODULE, options.grants(grants))
}

/// What can hold a call up, as `stay` numbers it.
const STAYS: [&str; 6] = ["nanosleep", "read", "poll", "futex", "loop", "nanosleep after a loop"];
const LIMIT: Duration = Duration::from_millis(300);
/// How late a call may return; a sanitizer is not there to be quick.
const LATE: Duration = Duration::from_millis(if cfg!(lockgate_sanitized) { 3000 } else { 100 });

/// The call must end by its limit, and never before it. On a busy machine many are late: one of some must not be.
fn ends_in_time<T>(what: &str, limit: Duration, call: impl Fn() -> T) -> T {
    let mut late = Vec::new();
    while late.len() < 30 {
        let begun = Instant::now();
        let ended = call();
        let took = begun.elapsed();
        assert!(took >= limit, "{what}: returned after {took:?}, limit {limit:?}");
        if took < limit + LATE {
            return ended;
        }
        late.push(took);
    }
    panic!("{what}: returned after {late:?}, limit {limit:?}");
}

/// A call between domains fails as this says.
fn link(client: &Domain, server: &Domain, name: &str, failure: OnFailure) {
    let prototype = crate::common::said(client, "inner", name);
    client.link("inner", server, &prototype, Policy::default(), failure).unwrap();
}

#[test]
fn the_limit_counts_from_the_start_of_the_call() {
    let _watchdog = watchdog("a call that stays");
    std::thread::scope(|scope| {
        for (which, name) in (0..).zip(STAYS) {
            scope.spawn(move || {
                let domain = domain(DomainOptions::new().time_limit(LIMIT));
                let stay = domain.bind::<Unary>("stay").unwrap();
                let error = ends_in_time(name, LIMIT, || stay.call(which)).expect_err(name);
                assert_eq!(
                    error.fault().map(|fault| fault.kind()),
                    Some(FaultKind::TimeOut),
                    "{name}: {error}"
                );
                assert!(error.to_string().contains("300ms"), "{error}");
                assert_eq!(crate::common::in_time(|| stay.call(9)).unwrap(), 7, "the domain goes on");
            });
        }
    });
}

/// A domain without a limit, called by one that has it: directly, and through a host function.
#[test]
fn the_callers_limit_bounds_what_it_calls() {
    let _watchdog = watchdog("a nested call that stays");
    std::thread::scope(|scope| {
        for (which, name) in (0..).zip(STAYS) {
            scope.spawn(move || {
                let server = domain(DomainOptions::new());
                let client = domain(DomainOptions::new().time_limit(LIMIT));
                link(&client, &server, "stay", OnFailure::Return(5));
                let via = client.bind::<Unary>("via").unwrap();
                let error = ends_in_time(name, LIMIT, || via.call(which)).expect_err(name);
                assert_eq!(error.fault().map(|fault| fault.domain()), Some(client.name()), "{name}: {error}");

                let stay = server.bind::<Unary>("stay").unwrap();
                let host = HostFunction::new(move |_: &Domain, which: i32| stay.call(which).unwrap_or(5));
                let client = domain(DomainOptions::new().time_limit(LIMIT).gate("inner", host));
                let via = client.bind::<Unary>("via").unwrap();
                let error = ends_in_time(name, LIMIT, || via.call(which)).expect_err(name);
                assert_eq!(
                    error.fault().map(|fault| fault.kind()),
                    Some(FaultKind::TimeOut),
                    "{name}: {error}"
                );
            });
        }
    });
}

/// The other way round: the inner domain's own limit is the shorter one, and ends its call only.
#[test]
fn a_shorter_limit_within_a_longer_one_ends_the_inner_call_only() {
    let _watchdog = watchdog("a nested call that stays");
    for (which, name) in (0..).zip(STAYS).take(5) {
        let short = Duration::from_millis(60);
        let server = domain(DomainOptions::new().time_limit(short));
        let client = domain(DomainOptions::new().time_limit(Duration::from_secs(60)));
        link(&client, &server, "stay", OnFailure::Return(5));
        let via = client.bind::<Unary>("via").unwrap();
        assert_eq!(ends_in_time(name, short, || via.call(which)).unwrap(), 5, "{name}");
    }
}

/// Waiting for one's turn is part of the call that waits.
#[test]
fn the_limit_ends_a_wait_for_an_exclusive_domain() {
    let _watchdog = watchdog("a wait for an exclusive domain");
    let server = domain(DomainOptions::new().exclusive(None));
    let stay = server.bind::<Unary>("stay").unwrap();
    let client = domain(DomainOptions::new().time_limit(LIMIT));
    link(&client, &server, "stay", OnFailure::Return(5));
    let via = client.bind::<Unary>("via").unwrap();
    let ready = Barrier::new(2);
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            // What a thread's first call sets up is done: the next call is the only one.
            assert_eq!(stay.call(9).unwrap(), 7);
            ready.wait();
            stay.call(0)
        });
        ready.wait();
        while server.usage().calls == 0 {
            std::thread::yield_now();
        }
        let error = ends_in_time("waits", LIMIT, || via.call(9)).expect_err("it is busy");
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
        server.kill();
        assert!(holder.join().unwrap().is_err());
    });
}

#[test]
fn threads_beyond_the_limit_are_refused() {
    let domain = domain(DomainOptions::new().thread_limit(3));
    let stay = domain.bind::<Unary>("stay").unwrap();
    let (entered, go) = (Barrier::new(3), Barrier::new(3));
    std::thread::scope(|scope| {
        let inside = [(); 2].map(|()| {
            scope.spawn(|| {
                assert_eq!(stay.call(9).unwrap(), 7);
                entered.wait();
                go.wait();
            })
        });
        entered.wait();
        assert_eq!(domain.usage().threads, 3);
        let refused = scope.spawn(|| stay.call(9)).join().unwrap();
        assert!(matches!(refused, Err(CallError::Threads { limit: 3, .. })), "{refused:?}");
        go.wait();
        // A scope alone does not wait for what threads do at their very end.
        for thread in inside {
            thread.join().unwrap();
        }
        scope.spawn(|| stay.call(9).expect("those threads have ended"));
    });
}

#[test]
fn descriptors_beyond_the_limit_are_refused() {
    let granted = || Grants::default().standard_streams().expect("streams");
    for limit in [3, 4, 10, 256] {
        let options = DomainOptions::new().grants(granted()).descriptor_limit(limit);
        let domain = Domain::new(&MODULE, options).unwrap();
        let open = domain.usage().descriptors;
        let allowed = domain.bind::<extern "C" fn() -> i32>("allowed").unwrap();
        assert_eq!(allowed.call().unwrap(), limit as i32);
        let descriptors = domain.bind::<extern "C" fn() -> i32>("descriptors").unwrap();
        assert_eq!(descriptors.call().unwrap(), (limit - open) as i32);
        assert_eq!(domain.usage().descriptors, limit);
    }
}

#[test]
fn calls_nest_as_deep_as_the_domain_allows() {
    for limit in [1, 2] {
        let server = domain(DomainOptions::new().depth_limit(limit));
        let stay = server.bind::<Unary>("stay").unwrap();
        assert_eq!(stay.call(9).unwrap(), 7);
        let within = limit >= 2;

        let client = domain(DomainOptions::new());
        link(&client, &server, "stay", OnFailure::Propagate);
        let crossed = client.bind::<Unary>("via").unwrap().call(9);
        match crossed {
            Ok(7) if within => {}
            Err(CallError::Callee { source, .. }) if !within => {
                assert!(matches!(*source, CallError::Depth(_)))
            }
            other => panic!("limit {limit}: {other:?}"),
        }

        let inner = stay.clone();
        let host = HostFunction::new(move |_: &Domain, which: i32| match inner.call(which) {
            Err(CallError::Depth(_)) => 1,
            other => other.unwrap(),
        });
        let client = domain(DomainOptions::new().gate("inner", host));
        let via = client.bind::<Unary>("via").unwrap();
        assert_eq!(via.call(9).unwrap(), if within { 7 } else { 1 });
        assert_eq!(stay.call(9).unwrap(), 7, "the limit is about this call's depth only");

        // One deeper: through a second client.
        let outer = domain(DomainOptions::new());
        link(&outer, &client, "via", OnFailure::Propagate);
        assert_eq!(outer.bind::<Unary>("via").unwrap().call(9).unwrap(), 1);
    }
}

#[test]
fn processor_time_is_measured_where_it_is_used() {
    let [busy, idle] = [(); 2].map(|()| domain(DomainOptions::new().measure_cpu_time()));
    let burn = busy.bind::<Unary>("burn").unwrap();
    let stay = idle.bind::<Unary>("stay").unwrap();
    std::thread::scope(|scope| {
        let asleep = scope.spawn(|| stay.call(0));
        let before = processor_time();
        burn.call(400).unwrap();
        let burnt = processor_time() - before;
        let used = busy.usage().cpu_time.expect("it is measured");
        assert!(used.abs_diff(burnt) < Duration::from_millis(20), "{used:?} of {burnt:?}");
        let used = idle.usage().cpu_time.expect("it is measured");
        assert!(used < Duration::from_millis(20), "asleep: {used:?}");
        idle.kill();
        assert!(asleep.join().unwrap().is_err());
    });
    assert_eq!(domain(DomainOptions::new()).usage().cpu_time, None);
}

#[test]
fn a_domain_without_processor_time_ends() {
    let _watchdog = watchdog("a domain that burns CPU time");
    let mut domain = domain(DomainOptions::new().cpu_limit(Duration::from_millis(80)));
    {
        let stay = domain.bind::<Unary>("stay").unwrap();
        std::thread::scope(|scope| {
            // Sleepers use no time, but their domain ends.
            let asleep = scope.spawn(|| stay.call(0));
            let error = stay.call(4).unwrap_err();
            assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::CpuTime), "{error}");
            let error = asleep.join().unwrap().unwrap_err();
            assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::CpuTime), "{error}");
        });
        let refused = stay.call(9);
        assert!(matches!(refused, Err(CallError::CpuTime(_))), "{refused:?}");
    }
    domain.reset().unwrap();
    assert!(domain.usage().cpu_time.unwrap() < Duration::from_millis(80));
    assert_eq!(domain.bind::<Unary>("stay").unwrap().call(9).unwrap(), 7);
}

/// Has the watcher stand still when it lets go of the closed domain whose function of the host's has this.
#[derive(Clone)]
struct Stop {
    reached: Arc<Barrier>,
    goes_on: Arc<Barrier>,
}

/// In a function of the host's.
struct Holds(Stop);

impl Drop for Holds {
    fn drop(&mut self) {
        self.0.reached.wait();
        self.0.goes_on.wait();
    }
}

impl Stop {
    /// A domain at whose end the watcher stands still.
    fn of_a_domain() -> (Domain, Stop) {
        let new = || Arc::new(Barrier::new(2));
        let stop = Stop { reached: new(), goes_on: new() };
        let held = Holds(stop.clone());
        let inner = HostFunction::new(move |_: &Domain, x: i32| {
            let _held = &held;
            x
        });
        (domain(DomainOptions::new().gate("inner", inner)), stop)
    }
}

/// The watcher reads a meter, and comes back to its domain later: who has the domain's place by then is another one, or the next user.
/// Red if it ends whoever has the number.
#[test]
fn what_one_domain_has_used_ends_no_other() {
    let output = crate::common::in_child("limits::child_whose_domain_is_gone_before_its_time_is");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by what_one_domain_has_used_ends_no_other"]
fn child_whose_domain_is_gone_before_its_time_is() {
    let _watchdog = watchdog("a watcher that stands still");
    let [first, second, third] = [(); 3].map(|()| Stop::of_a_domain());
    let [burn, burnt, closed, looked, leave] = [(); 5].map(|()| Barrier::new(2));
    let works = Arc::new((burn, burnt, closed, looked, leave));
    let own = works.clone();
    let inner = HostFunction::new(move |_: &Domain, x: i32| {
        if x > 0 {
            let begun = processor_time();
            while processor_time() - begun < Duration::from_millis(60) {}
            own.1.wait();
            own.2.wait();
            // A kick that has been sent comes with the next system call: the watcher need not wait for this thread.
            host_sys::thread_number();
            own.3.wait();
            own.4.wait();
        }
        x
    });
    let options = DomainOptions::new().cpu_limit(Duration::from_millis(20)).gate("inner", inner);
    let place = std::thread::scope(|scope| {
        let (attached, is_attached) = std::sync::mpsc::channel();
        let user = scope.spawn(|| {
            let attached = attached;
            let limited = domain(options);
            let via = limited.bind::<Unary>("via").unwrap();
            via.call(0).unwrap();
            attached.send(()).unwrap();
            works.0.wait();
            assert_eq!(via.call(1).unwrap(), 1, "its time is over, and nobody has ended it yet");
            limited.base()
        });
        is_attached.recv().unwrap();
        // The watcher has looked at the thread's clock.
        first.0.close();
        first.1.reached.wait();
        works.0.wait();
        works.1.wait();
        second.0.close();
        works.2.wait();
        works.3.wait();
        first.1.goes_on.wait();
        // It has looked again: the domain's time is over.
        second.1.reached.wait();
        works.4.wait();
        user.join().unwrap()
    });
    let mut others: Vec<Domain> = Vec::new();
    while others.last().is_none_or(|last| last.base() != place) {
        assert!(others.len() < 100, "nobody gets the place");
        others.push(domain(DomainOptions::new()));
    }
    third.0.close();
    second.1.goes_on.wait();
    third.1.reached.wait();
    third.1.goes_on.wait();
    let last = others.pop().unwrap();
    last.bind::<Unary>("burn").unwrap().call(0).unwrap();
}

/// Threads in a killed domain are interrupted until they have left: not those of who has its place then, nor its own next users' behind a
/// reset, nor those of the next binding in the place of one that was stopped. Red if the watcher goes by the place.
#[test]
fn who_gets_the_place_of_what_was_ended_is_left_alone() {
    let output = crate::common::in_child("limits::child_that_follows_what_was_ended");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by who_gets_the_place_of_what_was_ended_is_left_alone"]
fn child_that_follows_what_was_ended() {
    let interrupted = Arc::new(AtomicUsize::new(0));
    let counts = interrupted.clone();
    let inner = HostFunction::new(move |_: &Domain, sleeps: i32| {
        let one = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
        let woken = |_: &i32| matches!(nanosleep(&one), NanosleepRelativeResult::Interrupted(_));
        counts.fetch_add((0..sleeps).filter(woken).count(), Ordering::Relaxed);
        sleeps
    });
    let made = || domain(DomainOptions::new().gate("inner", inner.clone()));
    let is_left_alone = |call: &dyn Fn(i32) -> Result<i32, CallError>, what: &str| {
        interrupted.store(0, Ordering::Relaxed);
        assert_eq!(call(100).unwrap(), 100);
        // (The watcher may have been about to look.)
        assert!(interrupted.load(Ordering::Relaxed) < 5, "{what}: {interrupted:?} of 100 sleeps");
    };
    let mut killed = made();
    killed.bind::<Unary>("via").unwrap().call(0).unwrap();
    killed.kill();
    killed.reset().unwrap();
    is_left_alone(&|sleeps| killed.bind::<Unary>("via").unwrap().call(sleeps), "behind a reset");
    killed.kill();
    let place = killed.base();
    drop(killed);
    let next = made();
    assert_eq!(next.base(), place);
    is_left_alone(&|sleeps| next.bind::<Unary>("via").unwrap().call(sleeps), "in another domain");
    let registry = Registry::new();
    let export = Export::new("via", Version::new(1, 0)).of("int via(int)").allow(Allow::Everyone);
    registry.export(&next, export).unwrap();
    let bound = registry.bind::<Unary>(&Principal::nobody(), &Request::newest("via")).unwrap();
    let place = bound.as_ptr();
    registry.revoke("via", Revoke::Stop).unwrap();
    drop(bound);
    let via = next.bind::<Unary>("via").unwrap();
    assert_eq!(via.as_ptr(), place);
    is_left_alone(&|sleeps| via.call(sleeps), "by another binding");
}

#[test]
fn usage_shows_memory_and_its_peak() {
    let mut domain = domain(DomainOptions::new().memory_limit(32 << 20));
    let before = domain.usage();
    assert_eq!((before.memory_limit, before.calls, before.threads), (32 << 20, 0, 1));
    let grow = domain.bind::<Unary>("grow_and_shrink").unwrap();
    assert_eq!(grow.call(8 << 20).unwrap(), 1);
    let after = domain.usage();
    assert!(after.peak_memory >= before.memory + (8 << 20), "{after:?}");
    assert!(after.memory < before.memory + (8 << 20), "{after:?}");
    assert_eq!(grow.call(40 << 20).unwrap(), 0, "refused, and the domain goes on");
    drop(grow);
    domain.reset().unwrap();
    assert!(domain.usage().peak_memory <= before.peak_memory);
}

#[test]
fn a_limit_of_nothing_is_an_error() {
    let cases: [(&str, DomainOptions); 11] = [
        ("memory limit is 0", DomainOptions::new().memory_limit(0)),
        ("thread limit is 0", DomainOptions::new().thread_limit(0)),
        ("thread limit is 64", DomainOptions::new().thread_limit(64)),
        ("descriptor limit is 0", DomainOptions::new().descriptor_limit(0)),
        ("descriptor limit is 65537", DomainOptions::new().descriptor_limit(65_537)),
        ("mapping limit is 0", DomainOptions::new().mapping_limit(0)),
        ("mapping limit is 16385", DomainOptions::new().mapping_limit(16_385)),
        ("depth limit is 0", DomainOptions::new().depth_limit(0)),
        ("umask is 0o1000: it must be between 0 and 0o777", DomainOptions::new().umask(0o1000)),
        ("CPU time limit is zero", DomainOptions::new().cpu_limit(Duration::ZERO)),
        ("time limit is below", DomainOptions::new().time_limit(Duration::ZERO)),
    ];
    for (says, options) in cases {
        let error = Domain::new(&MODULE, options).expect_err(says);
        assert!(matches!(error, CreateError::Limit { .. } | CreateError::Option { .. }), "{error:?}");
        assert!(error.to_string().contains(says), "{error}: should say {says:?}");
    }
}

/// A thread that enters another domain first must not find its way back into a killed one.
#[test]
fn a_killed_domain_stays_closed_to_threads_that_go_elsewhere() {
    for nested in [false, true] {
        let killed = Arc::new(domain(DomainOptions::new()));
        let stay = killed.bind::<Unary>("stay").unwrap();
        let end = killed.clone();
        let host = HostFunction::new(move |_: &Domain, which: i32| {
            end.kill();
            // Takes the slow path in, after which this thread is not asked again.
            assert_eq!(domain(DomainOptions::new()).bind::<Unary>("stay").unwrap().call(which).unwrap(), 7);
            which
        });
        let caller = domain(DomainOptions::new().gate("inner", host));
        assert_eq!(stay.call(9).unwrap(), 7);
        if nested {
            link(&killed, &caller, "via", OnFailure::default());
            let error = killed.bind::<Unary>("via").unwrap().call(9).unwrap_err();
            assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::Killed), "{error}");
        } else {
            assert_eq!(caller.bind::<Unary>("via").unwrap().call(9).unwrap(), 9);
        }
        let refused = stay.call(9);
        assert!(matches!(refused, Err(CallError::Killed(_))), "nested {nested}: {refused:?}");
    }
}

/// The signals of a user's that wait are counted, for all processes together: no limit rests on one that has to be queued.
#[test]
fn limits_hold_where_no_signal_can_be_queued() {
    let output = crate::common::in_child("limits::child_without_a_queue");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by limits_hold_where_no_signal_can_be_queued"]
fn child_without_a_queue() {
    let _watchdog = watchdog("a limit without queued signals");
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(rustix::process::Resource::Sigpending, none).expect("less is allowed");
    let domain = domain(DomainOptions::new().time_limit(Duration::from_millis(100)));
    let stay = domain.bind::<extern "C" fn(i32) -> i32>("stay").unwrap();
    for which in [4, 0, 4] {
        let error = stay.call(which).unwrap_err();
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
    }
}

/// A kick that waits together with a signal of the host's finds that one's handler, not the domain.
/// A host's filter of system calls may lack one that this library could do without. Red if the watcher panics where it cannot sleep.
#[test]
fn limits_hold_where_a_filter_refuses_to_sleep() {
    let output = crate::common::in_child("limits::child_that_cannot_sleep");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by limits_hold_where_a_filter_refuses_to_sleep"]
fn child_that_cannot_sleep() {
    let _watchdog = watchdog("a call without its limit");
    crate::common::host_sys::refuse_system_call(libc::SYS_clock_nanosleep);
    let domain = domain(DomainOptions::new().time_limit(Duration::from_millis(20)));
    let stay = domain.bind::<extern "C" fn(i32) -> i32>("stay").unwrap();
    for way in [4, 3, 0] {
        let error = stay.call(way).unwrap_err();
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{way}: {error}");
    }
}

/// Limits are in time whatever the thread that started the first call may have set, or its process was started with. Red if the library's
/// thread has it, too: it would wake seconds late; or if its turns are as long as others': it would wait for theirs.
#[test]
fn the_watcher_wakes_in_time() {
    let output = crate::common::in_child("limits::child_with_much_slack");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by the_watcher_wakes_in_time"]
fn child_with_much_slack() {
    let much = std::num::NonZeroU64::new(1_000_000_000).expect("not zero");
    rustix::thread::set_current_timer_slack(Some(much)).expect("it may");
    // How nice the thread is, the library's is, too: all else of how it runs stays.
    rustix::process::setpriority_process(None, 7).expect("it may");
    let domain = domain(DomainOptions::new().time_limit(Duration::from_millis(20)));
    let stay = domain.bind::<extern "C" fn(i32) -> i32>("stay").unwrap();
    let error = stay.call(4).unwrap_err();
    assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
    let threads = std::fs::read_dir("/proc/self/task").expect("/proc is mounted");
    let watchers: Vec<String> = threads
        .map(|thread| thread.expect("a thread").path())
        .filter(|thread| {
            std::fs::read_to_string(thread.join("comm")).is_ok_and(|name| name == "lockgate-watch\n")
        })
        .map(|thread| thread.file_name().expect("a number").to_string_lossy().into_owned())
        .collect();
    let [watcher] = &watchers[..] else { panic!("{watchers:?}") };
    let slack = std::fs::read_to_string(format!("/proc/{watcher}/timerslack_ns")).expect("Linux has it");
    assert_eq!(slack, "50000\n");
    // Linux 6.12 and later, where it is built to say so.
    let said = std::fs::read_to_string(format!("/proc/{watcher}/sched")).unwrap_or_default();
    let turn = said.lines().find_map(|line| line.strip_prefix("se.slice")?.split(':').nth(1));
    match turn {
        Some(turn) => assert_eq!(turn.trim(), "100000"),
        None => support::skipped("child_with_much_slack", "this kernel does not tell how long turns are"),
    }
    let stat = std::fs::read_to_string(format!("/proc/{watcher}/stat")).expect("Linux has it");
    let behind_name = stat.rsplit(") ").next().expect("a name").split(' ');
    assert_eq!(behind_name.into_iter().nth(16), Some("7"), "{stat}");
}

/// Without one of these system calls no limit and no kill would have an effect, or a fault would end the process: the first module is
/// refused, and the error names the call.
#[test]
fn a_filter_that_takes_limits_away_is_refused() {
    for child in [
        "getpid",
        "gettid",
        "tgkill",
        "rt_tgsigqueueinfo",
        "rt_sigaction",
        "sigaltstack",
        "personality",
        "membarrier",
    ] {
        let output = crate::common::in_child(&format!("limits::child_without::{child}"));
        assert!(output.status.success(), "{child}: {output:?}");
    }
}

mod child_without {
    use super::*;

    fn refuses(call: &str, number: i64) {
        let bytes = Guest::c("int number(void) { return 1; }").build();
        crate::common::host_sys::refuse_system_call(number);
        let error = Module::from_bytes(&bytes).expect_err("its limits would not hold").to_string();
        assert!(error.contains(&format!("this process may not call {call},")), "{error}");
    }

    macro_rules! children {
        ($($name:ident $number:ident)*) => {
            $(
                #[test]
                #[ignore = "run by a_filter_that_takes_limits_away_is_refused"]
                fn $name() {
                    refuses(stringify!($name), libc::$number);
                }
            )*
        };
    }

    children! {
        getpid SYS_getpid
        gettid SYS_gettid
        tgkill SYS_tgkill
        rt_tgsigqueueinfo SYS_rt_tgsigqueueinfo
        rt_sigaction SYS_rt_sigaction
        sigaltstack SYS_sigaltstack
        personality SYS_personality
        membarrier SYS_membarrier
    }
}

/// The limit of files' sizes is asked for in another way where a filter refuses `prlimit64`.
#[test]
fn a_filter_makes_no_limit_and_hides_none() {
    for child in ["no_limit", "a_limit"] {
        let output = crate::common::in_child(&format!("limits::child_without_prlimit::{child}"));
        assert!(output.status.success(), "{child}: {output:?}");
    }
}

mod child_without_prlimit {
    use super::*;
    use crate::common::host_sys::refuse_system_call;
    use rustix::process::{Resource, Rlimit, setrlimit};

    fn bytes() -> Vec<u8> {
        Guest::c("int number(void) { return 1; }").build()
    }

    #[test]
    #[ignore = "run by a_filter_makes_no_limit_and_hides_none"]
    fn no_limit() {
        let bytes = bytes();
        refuse_system_call(libc::SYS_prlimit64);
        Module::from_bytes(&bytes).expect("there is no limit");
    }

    #[test]
    #[ignore = "run by a_filter_makes_no_limit_and_hides_none"]
    fn a_limit() {
        let bytes = bytes();
        let few = Rlimit { current: Some(4096), maximum: Some(4096) };
        setrlimit(Resource::Fsize, few).expect("less is allowed");
        refuse_system_call(libc::SYS_prlimit64);
        let error = Module::from_bytes(&bytes).expect_err("the image is larger").to_string();
        assert!(error.contains("File too large"), "{error}");
    }
}

/// What to do is told by the system's reason: more memory gives no process more files.
#[test]
fn the_remedy_is_that_of_the_reason() {
    let output = crate::common::in_child("limits::child_without_descriptors");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by the_remedy_is_that_of_the_reason"]
fn child_without_descriptors() {
    let bytes = Guest::c("int number(void) { return 1; }").build();
    let path = std::env::current_exe().expect("it has a path");
    let few = rustix::process::Rlimit { current: Some(64), maximum: Some(64) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, few).expect("less is allowed");
    let mut open = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        open.push(file);
    }
    let remedy = "raise the process's limit of open files (ulimit -n)";
    let errors = [
        Module::open(path).expect_err("no descriptor for the file").to_string(),
        Module::from_bytes(&bytes).expect_err("none for the image").to_string(),
    ];
    assert!(errors.iter().all(|error| error.ends_with(remedy)), "{errors:?}");
    open.pop();
    let module = Module::from_bytes(&bytes).expect("one for the image");
    let error = Domain::new(&module, DomainOptions::new()).expect_err("none for stacks").to_string();
    assert!(error.ends_with(remedy), "{error}");
}

#[test]
fn limits_hold_where_a_handler_is_always_next() {
    let _watchdog = watchdog("the limit of a thread that is never without a signal");
    let domain = domain(DomainOptions::new().time_limit(Duration::from_millis(10)));
    let stay = domain.bind::<Unary>("stay").unwrap();
    for _ in 0..5 {
        crate::common::host_sys::signals_without_end(libc::SIGUSR1, domain.base(), || {
            let error = stay.call(4).unwrap_err();
            assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
        });
    }
}

/// A thread may be cancelled at the moment at which a limit interrupts it. Red, by the end of the process in some of such moments, if libc's signal
/// interrupts the library's handlers: no frame of Rust's can be unwound by that.
#[test]
fn limits_hold_for_threads_that_are_cancelled_at_any_moment() {
    const CANCELS: u64 = 1 << (32 - 1);
    let _watchdog = watchdog("a thread that is cancelled when its limit comes");
    let domain = domain(DomainOptions::new().time_limit(Duration::from_millis(2)));
    let stay = domain.bind::<extern "C" fn(i64) -> i64>("stay_long").expect("an export");
    let moments = (0..100).map(|round| 1_800 + round * 7919 % 1_500);
    let cancelled = host_sys::cancelled_at_any_moment(stay.as_ptr(), 4, moments);
    assert!(cancelled > 0, "{cancelled} of 100");
    // The last one is the kick.
    let signals = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];
    for signal in signals.into_iter().chain([libc::SIGRTMAX()]) {
        assert!(host_sys::mask_of_handler(signal) & CANCELS != 0, "signal {signal}");
    }
    assert_eq!(domain.bind::<Unary>("burn").unwrap().call(0).expect("another one"), 0);
}

/// Red if each kill is told to all threads, whatever it ends: a host that kills a dead domain again and again would interrupt all that it does itself.
#[test]
fn a_dead_domain_is_killed_without_a_word() {
    let _watchdog = watchdog("kills of a dead domain");
    let (dead, other) = (domain(DomainOptions::new()), domain(DomainOptions::new()));
    dead.kill();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let (tell, told) = std::sync::mpsc::channel();
    let interrupts = std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            // From here on it is a thread that is told of kills.
            other.bind::<Unary>("burn").unwrap().call(0).expect("a call");
            tell.send(()).expect("a receiver");
            let mut interrupts = 0;
            let mut ends = [rustix::event::PollFd::new(&reader, rustix::event::PollFlags::IN)];
            while let Err(rustix::io::Errno::INTR) = rustix::event::poll(&mut ends, None) {
                interrupts += 1;
            }
            interrupts
        });
        told.recv().expect("it waits");
        (0..100).for_each(|_| dead.kill());
        drop(writer);
        waits.join().expect("a thread")
    });
    assert_eq!(interrupts, 0);
    assert!(dead.bind::<Unary>("burn").unwrap().call(0).is_err());
}

/// Limits rest on no signal that the host may have taken, be it before the library came or after.
#[test]
fn limits_hold_where_all_signals_are_the_hosts() {
    let output = crate::common::in_child("limits::child_with_all_signals");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by limits_hold_where_all_signals_are_the_hosts"]
fn child_with_all_signals() {
    let take_all =
        || (libc::SIGRTMIN()..=libc::SIGRTMAX()).for_each(crate::common::host_sys::install_handler);
    let _watchdog = watchdog("a limit without a signal of its own");
    let first = domain(DomainOptions::new().time_limit(Duration::from_millis(50)));
    let ends = |domain: &Domain| {
        let error = domain.bind::<Unary>("stay").unwrap().call(4).unwrap_err();
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
    };
    ends(&first);
    take_all();
    ends(&first);
}

/// A call that is ended in the middle of libc leaves its locks taken: whoever waits for one then, on any thread, with no limit, is told.
#[test]
fn locks_that_a_call_left_taken_are_an_error_not_a_wait() {
    const SOURCE: &str = r#"
        #include <stdio.h>
        #include <stdlib.h>
        int hold(int unused) { flockfile(stdout); for (;;) ; return unused; }
        int print(int unused) { return putchar(unused + '0') < 0 ? -1 : 1; }
        int leave(int status) { exit(status); }
    "#;
    let _watchdog = watchdog("a wait for a lock that nobody gives back");
    let module = Guest::c(SOURCE).module();
    let domain = Domain::new(&module, DomainOptions::new()).unwrap();
    let call = |name: &str| domain.bind::<Unary>(name).unwrap().call(3);
    let ended = |result: Result<i32, CallError>| result.unwrap_err().fault().unwrap().to_string();
    assert_eq!(call("print").unwrap(), 1);
    let workers = Workers::new(1, 1).unwrap();
    let hold = domain.bind::<Unary>("hold").unwrap();
    let held = hold.call_async(workers.within(Duration::from_millis(50)), 3).unwrap().wait();
    assert!(matches!(held, Err(CallError::Deadline(_))), "{held:?}");
    let said = ended(call("print"));
    assert!(said.contains("a lock of its C library that a call held when it was ended"), "{said}");
    // exit does the same by itself, where musl gives nothing back.
    for round in 0..3 {
        let said = ended(call("leave"));
        assert!(
            said.contains("called exit(3)") || said.contains("a lock of its C library"),
            "{round}: {said}"
        );
    }
}

/// A kill ends what waits for events, and is none of them. Red if the library's own event by which a wait ends comes back from it: the module
/// goes on, and its end is a trap.
#[test]
fn a_kill_is_no_event() {
    let _watchdog = watchdog("a kill of what waits for events");
    let module = Guest::c(
        "#include <sys/epoll.h>
         void ready(void);
         int await(int timeout) {
             struct epoll_event events[4];
             int set = epoll_create1(0);
             ready();
             epoll_wait(set, events, 4, timeout);
             __builtin_trap();
         }",
    )
    .gate("void ready(void)")
    .export("int await(int)")
    .module();
    for round in 0..300 {
        let (tell, told) = std::sync::mpsc::channel();
        let tell = std::sync::Mutex::new(tell);
        let ready = HostFunction::new(move |_: &Domain| tell.lock().unwrap().send(()).expect("the test"));
        let grants = Grants::default().connect("127.0.0.1:9").unwrap();
        let domain = Domain::new(&module, DomainOptions::new().grants(grants).gate("ready", ready)).unwrap();
        let await_ = domain.bind::<Unary>("await").unwrap();
        let timeout = if round % 2 == 0 { -1 } else { 60_000 };
        let error = std::thread::scope(|scope| {
            let (tell_number, number) = std::sync::mpsc::channel();
            let waiting = scope.spawn(move || {
                tell_number.send(host_sys::thread_number()).expect("the test");
                await_.call(timeout).unwrap_err()
            });
            let number = number.recv().unwrap();
            told.recv().unwrap();
            // It waits, or is about to, and is to see nothing, either.
            match round % 4 < 2 {
                true => host_sys::until_it_sleeps(number),
                false => (0..round * 100).for_each(|_| std::hint::spin_loop()),
            }
            domain.kill();
            waiting.join().unwrap()
        });
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::Killed), "{round}: {error}");
    }
}
