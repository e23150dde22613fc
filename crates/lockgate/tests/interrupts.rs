//! Hosts that want what runs to end: [`lockgate::interrupt`], and the stop predicate that domains are made with.

use crate::common::{Guest, host_sys, watchdog};
use lockgate::syscall::{Access, Grants};
use lockgate::{CallError, Domain, DomainOptions, FaultKind, Function, HostFunction, Module};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

const SOURCE: &str = r#"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int host(int which);
static int word;
int fine(int x) { return x + 1; }
int via(int which) { return host(which) + 1; }
int stay(int which) {
    struct timespec minute = {60, 0};
    int ends[2] = {-1, -1};
    char byte;
    switch (which) {
    case 0: for (;;) ;
    case 1: return nanosleep(&minute, 0);
    case 2: return pipe(ends) || read(ends[0], &byte, 1);
    case 3: { struct pollfd one = {pipe(ends) ? -1 : ends[0], POLLIN, 0}; return poll(&one, 1, -1); }
    case 4: return syscall(SYS_futex, &word, 0, 0, 0);
    /* Waits that take no lock: who has waited once has the event of its end. */
    case 5: {
        struct pollfd one = {pipe(ends) ? -1 : ends[0], POLLIN, 0};
        return poll(&one, 1, 0) || read(ends[0], &byte, 1);
    }
    case 6: { struct epoll_event event; return epoll_wait(epoll_create1(0), &event, 1, -1); }
    }
    return 7;
}
"#;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).gate("int host(int)").module());

type Unary = extern "C" fn(i32) -> i32;

/// A domain whose calls are to end while `wish` is true.
fn domain(wish: &'static AtomicBool, host: impl Fn(i32) -> i32 + Send + Sync + 'static) -> Domain {
    let host = HostFunction::new(move |_: &Domain, which: i32| host(which));
    // Descriptors are there for domains that were granted something.
    let grants = Grants::default().directory("/tmp", "/tmp", Access::ReadOnly).expect("a folder");
    let options =
        DomainOptions::new().grants(grants).stop_if(|| wish.load(Ordering::SeqCst)).gate("host", host);
    Domain::new(&MODULE, options).expect("a domain")
}

fn is_stop(error: &CallError) -> bool {
    error.fault().is_some_and(|fault| fault.kind() == FaultKind::Stopped)
}

/// Whatever holds a call up, one interruption ends it, though the first kick finds a handler of the host. Red if that kick is the last
/// (`ThreadState::look`), and without the stop predicate in `why_stop`, which those that block ask, too.
#[test]
fn an_interruption_ends_what_runs() {
    static WISH: AtomicBool = AtomicBool::new(false);
    let _watchdog = watchdog("an interrupted call");
    let domain = domain(&WISH, |which| which);
    let stay = domain.bind::<Unary>("stay").unwrap();
    const NAMES: [&str; 7] = ["loop", "nanosleep", "read", "poll", "futex", "quick read", "epoll_wait"];
    for which in 0..7 {
        WISH.store(false, Ordering::SeqCst);
        let error = host_sys::interrupt_once(libc::SIGUSR2, &WISH, 20_000_000, || stay.call(which));
        let error = error.expect_err(NAMES[which as usize]);
        assert!(is_stop(&error), "{which}: {error}");
    }
    WISH.store(false, Ordering::SeqCst);
    assert_eq!(stay.call(7).unwrap(), 7);
}

/// Wherever the one interruption finds the thread, in the domain, a proxy, a gate or the host, no later call goes on for ever.
#[test]
fn no_interruption_is_lost() {
    static WISH: AtomicBool = AtomicBool::new(false);
    let _watchdog = watchdog("an interrupted series of calls");
    let domain = domain(&WISH, |which| which);
    let (fine, via) = (domain.bind::<Unary>("fine").unwrap(), domain.bind::<Unary>("via").unwrap());
    for round in 0..200 {
        WISH.store(false, Ordering::SeqCst);
        let nanoseconds = 200_000 + round * 997;
        let error = host_sys::interrupt_once(libc::SIGUSR2, &WISH, nanoseconds, || {
            loop {
                if let Err(error) = fine.call(1).and_then(|_| via.call(1)) {
                    break error;
                }
            }
        });
        assert!(is_stop(&error) || matches!(error, CallError::Interrupted(_)), "{error}");
    }
}

/// A kick that finds the thread outside is the last; the next call asks. Red without the stop predicate in `take_place`.
#[test]
fn a_kick_between_calls_holds_for_the_next() {
    static WISH: AtomicBool = AtomicBool::new(false);
    let domain = domain(&WISH, |which| which);
    let fine = domain.bind::<Unary>("fine").unwrap();
    assert_eq!(fine.call(1).unwrap(), 2);
    WISH.store(true, Ordering::SeqCst);
    host_sys::interrupt_and_wait(1);
    let error = fine.call(1).expect_err("a call that the host does not want any more");
    assert!(matches!(error, CallError::Interrupted(_)), "{error}");
    WISH.store(false, Ordering::SeqCst);
    assert_eq!(fine.call(1).unwrap(), 2);
}

/// So it does when a call of another domain comes first, in a function that the domain has called, and outside. Red if the thread has one mark
/// for all.
#[test]
fn a_kick_holds_for_each_domain() {
    static WISH: AtomicBool = AtomicBool::new(false);
    static REFUSED: AtomicUsize = AtomicUsize::new(0);
    let host = HostFunction::new(|_: &Domain, which: i32| which);
    let other = Domain::new(&MODULE, DomainOptions::new().gate("host", host)).expect("a domain");
    let others = other.bind::<Unary>("fine").unwrap();
    let refused = Arc::new(move |fine: &Function<Unary>| {
        let calls = (0..3).map(|_| others.call(1).and_then(|_| fine.call(1)));
        calls.filter(|result| matches!(result, Err(CallError::Interrupted(name)) if name == "asked")).count()
    });
    let within = refused.clone();
    let host = HostFunction::new(move |domain: &Domain, which: i32| {
        WISH.store(true, Ordering::SeqCst);
        host_sys::interrupt_and_wait(3);
        REFUSED.store(within(&domain.bind("fine").expect("it is exported")), Ordering::SeqCst);
        which
    });
    let options =
        DomainOptions::new().name("asked").stop_if(|| WISH.load(Ordering::SeqCst)).gate("host", host);
    let domain = Domain::new(&MODULE, options).expect("a domain");
    let (fine, via) = (domain.bind("fine").unwrap(), domain.bind::<Unary>("via").unwrap());
    let error = via.call(1).unwrap_err();
    assert!(is_stop(&error) && REFUSED.load(Ordering::SeqCst) == 3, "{error}, {REFUSED:?}");
    WISH.store(false, Ordering::SeqCst);
    assert_eq!((refused(&fine), fine.call(1).unwrap()), (0, 2));
    WISH.store(true, Ordering::SeqCst);
    host_sys::interrupt_and_wait(1);
    assert_eq!(refused(&fine), 3);
    WISH.store(false, Ordering::SeqCst);
    assert_eq!(fine.call(1).unwrap(), 2);
}

#[test]
fn a_call_that_has_called_the_host_ends_when_that_returns() {
    static WISH: AtomicBool = AtomicBool::new(false);
    let returned = Arc::new(AtomicBool::new(false));
    let seen = returned.clone();
    let domain = domain(&WISH, move |which| {
        WISH.store(true, Ordering::SeqCst);
        // Until the thread has been kicked: the call is not to end by itself.
        host_sys::interrupt_and_wait(3);
        seen.store(true, Ordering::SeqCst);
        which
    });
    let error = domain.bind::<Unary>("via").unwrap().call(1).unwrap_err();
    assert!(is_stop(&error) && returned.load(Ordering::SeqCst), "{error}");
}

/// A host that was told to stop before its thread's first call. Red without the stop predicate in `enter_early`.
#[test]
fn a_wish_may_be_older_than_the_first_call() {
    static WISH: AtomicBool = AtomicBool::new(true);
    let options = || DomainOptions::new().stop_if(|| WISH.load(Ordering::SeqCst));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            lockgate::interrupt();
            let refused = Domain::new(&Guest::c("int fine(void) { return 7; }").module(), options());
            assert!(refused.is_err_and(|error| error.to_string().contains("asks calls to end")));
        });
    });
}

/// A host may say so while a call waits for its turn. Red if it is asked before the wait alone: the call waits for as long as the domain is taken.
#[test]
fn a_wish_ends_the_wait_for_a_turn() {
    static WISH: AtomicBool = AtomicBool::new(false);
    let _watchdog = watchdog("a call that waits for its turn");
    let (held, holds) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let (held, may_go) = (Mutex::new(held), Mutex::new(may_go));
    let host: HostFunction = HostFunction::new(move |_: &Domain, which: i32| {
        held.lock().unwrap().send(()).unwrap();
        may_go.lock().unwrap().recv().unwrap();
        which
    });
    let source = "int host(int); int via(int which) { return host(which); } int fine(void) { return 7; }";
    let options =
        DomainOptions::new().exclusive(None).stop_if(|| WISH.load(Ordering::SeqCst)).gate("host", host);
    let domain = Domain::new(&Guest::c(source).gate("int host(int)").module(), options).unwrap();
    let via = domain.bind::<Unary>("via").unwrap();
    let fine = |domain: &Domain| domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    let other = fine(&Guest::c("int fine(void) { return 7; }").domain());
    let fine = fine(&domain);
    assert_eq!(fine.call().unwrap(), 7);
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| via.call(1));
        holds.recv().unwrap();
        let waits = || host_sys::interrupt_once(libc::SIGUSR2, &WISH, 1_000_000, || fine.call());
        // A thread that has called before, and one for which the module has to make something first. (Where an interruption comes before a thread's
        // first call of any domain, nothing is to end.)
        let other = &other;
        let first = move || {
            assert_eq!(other.call().unwrap(), 7);
            waits()
        };
        for is_new in [false, true] {
            let ended = if is_new { scope.spawn(first).join().expect("no panic") } else { waits() };
            assert!(matches!(&ended, Err(CallError::Interrupted(_))), "{ended:?}");
            WISH.store(false, Ordering::SeqCst);
        }
        go.send(()).unwrap();
        assert_eq!(holder.join().expect("no panic").unwrap(), 1);
    });
}

#[test]
fn an_interruption_without_a_wish_changes_nothing() {
    static WISH: AtomicBool = AtomicBool::new(false);
    static OTHER: AtomicBool = AtomicBool::new(false);
    let domain = domain(&WISH, |which| which);
    let via = domain.bind::<Unary>("via").unwrap();
    let calls = host_sys::interrupt_once(libc::SIGUSR2, &OTHER, 1_000_000, || {
        let mut calls = 0;
        while !OTHER.load(Ordering::SeqCst) || calls < 100_000 {
            assert_eq!(via.call(1).unwrap(), 2);
            calls += 1;
        }
        calls
    });
    assert!(calls >= 100_000);
    // Nor on a thread that has never called a domain.
    std::thread::spawn(lockgate::interrupt).join().unwrap();
}
