//! Forked children: nothing of their parent's domains, everything else.

use crate::common::host_sys::{Uses, at_forks, in_child_of, in_child_that_shares};
use crate::common::{Guest, in_child};
use lockgate::dl::{Library, Mode, Options};
use lockgate::registry::{Allow, Export, Observer, Principal, Registry, Request, Version};
use lockgate::{
    AllocError, BindError, CallError, Domain, DomainOptions, FaultKind, Function, HostFunction, MemoryError,
    Module, Pointer, Policy, Pool, Region, ResetError, Rights, Workers,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// How to fork: by fork(3), and in a program without other threads by the plain system call, too. After that malloc may stay locked for
/// good by a thread that is not there.
fn kinds() -> Vec<bool> {
    module(); // whose lock is the test's own
    if std::env::var_os("LOCKGATE_PLAIN_FORKS").is_some() { vec![false, true] } else { vec![false] }
}

type Nullary = extern "C" fn() -> i32;
type Unary = extern "C" fn(i32) -> i32;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int host(int);
static int counter;
static char secret[9 * 4096];
int next(void) { return ++counter; }
int spin(void) { for (volatile int i = 0;; i++); }
int call_host(int n) { int r = host(n); return r + counter; }
int work(int n) { for (volatile int i = 0; i < n; i++); return n; }
int crash(void) { return *(volatile int *)0x8000; }
int keep(int n) { memset(secret, n, sizeof secret); char *more = malloc(100000); memset(more, n, 100000); return n; }
int kept(void) { int sum = 0; for (unsigned i = 0; i < sizeof secret; i++) sum += secret[i]; return sum; }
int first(int *p) { return *p; }
/* The process, if libc knows where this thread's stack lies. */
int who(void) {
    pthread_attr_t attributes;
    void *at;
    size_t size;
    char here;
    if (pthread_getattr_np(pthread_self(), &attributes) || pthread_attr_getstack(&attributes, &at, &size)) return -1;
    return (char *)at <= &here && &here < (char *)at + size ? getpid() : -2;
}
"#;

fn module() -> Arc<Module> {
    static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).gate("int host(int)").module());
    MODULE.clone()
}

fn limited() -> DomainOptions {
    DomainOptions::new().time_limit(Duration::from_millis(500))
}

/// With a limit that no call reaches, however busy the machine is.
fn patient() -> DomainOptions {
    DomainOptions::new().time_limit(Duration::from_secs(60))
}

fn domain(options: DomainOptions) -> Domain {
    crate::common::started(&module(), options)
}

fn expect(what: bool, text: &str) -> Result<(), String> {
    what.then_some(()).ok_or_else(|| text.to_owned())
}

/// A domain of the calling process works, and the time limit of another one comes.
fn own_domain_works() -> Result<(), String> {
    let domain = Domain::new(&module(), patient()).map_err(|e| e.to_string())?;
    let next = domain.bind::<Nullary>("next").map_err(|e| e.to_string())?;
    expect(matches!((next.call(), next.call()), (Ok(1), Ok(2))), "an own domain counts from one")?;
    let begun = Instant::now();
    let spun = self::domain(limited()).bind::<Nullary>("spin").map_err(|e| e.to_string())?.call();
    let kind = spun.as_ref().err().and_then(CallError::fault).map(|fault| fault.kind());
    expect(kind == Some(FaultKind::TimeOut), &format!("{spun:?}"))?;
    expect(begun.elapsed() < Duration::from_secs(60), "the limit came late")?;
    let crashed = domain.bind::<Nullary>("crash").map_err(|e| e.to_string())?.call();
    let kind = crashed.as_ref().err().and_then(CallError::fault).map(|fault| fault.kind());
    expect(kind == Some(FaultKind::Segv), &format!("{crashed:?}"))?;
    expect(matches!(next.call(), Ok(3)), "it goes on")
}

/// A handler forks while a domain's call is in a gate or in a service: the child's call ends when it goes on there, with the error that says so.
/// Red if a gate that has asked already goes back to a control stack that is not there, or a service reads the window.
#[test]
fn children_of_handlers_end_their_calls() {
    for name in ["child_asks", "child_makes_contexts", "child_switches", "child_jumps"] {
        let output = crate::common::in_child(&format!("forks::{name}"));
        assert!(output.status.success(), "{name}: {output:?}");
    }
}

const LOOPS: &str = r#"
#include <setjmp.h>
#include <ucontext.h>
#include <unistd.h>
static jmp_buf begin;
static __attribute__((noinline)) void deep(int n) {
    volatile char frame[64];
    frame[0] = n;
    if (n) deep(n - 1);
    longjmp(begin, frame[0] + 1);
}
static ucontext_t one, other;
static char room[65536];
static void turns(void) { for (;;) swapcontext(&one, &other); }
static void make(void) {
    getcontext(&one);
    one.uc_stack.ss_sp = room;
    one.uc_stack.ss_size = sizeof room;
    makecontext(&one, turns, 0);
}
int asks(void) { for (;;) getpid(); }
int makes(void) { for (;;) make(); }
int jumps(void) { for (;;) if (!setjmp(begin)) deep(20); }
int switches(void) { make(); for (;;) swapcontext(&other, &one); }
"#;

fn forks_in(name: &str) {
    let _watchdog = crate::common::watchdog("a child that does not end");
    let exports = ["int asks(void)", "int makes(void)", "int switches(void)", "int jumps(void)"];
    let guest = exports.into_iter().fold(Guest::c(LOOPS), Guest::export);
    let domain = guest.domain_with(DomainOptions::new().time_limit(Duration::from_millis(200)));
    let endless = domain.bind::<Nullary>(name).unwrap();
    endless.call().unwrap_err();
    // One that is forked when the limit has just ended the call finds that; and the parent's next call is none of its own.
    let ends = |error: CallError| {
        matches!(error, CallError::Forked)
            || error.fault().is_some_and(|fault| fault.kind() == FaultKind::TimeOut)
    };
    let (well, all) = crate::common::host_sys::forks_in_handlers(libc::SIGUSR1, false, || {
        let first = endless.call();
        !crate::common::host_sys::is_forked_child()
            || first.is_err_and(ends) && matches!(endless.call(), Err(CallError::Forked))
    });
    assert_eq!(well, all);
}

#[test]
fn a_childs_domain_knows_its_process() {
    let own = || {
        for _ in 0..3 {
            let (domain, process) = (domain(patient()), std::process::id());
            let who = domain.bind::<Nullary>("who").map_err(|e| e.to_string())?.call();
            expect(matches!(who, Ok(own) if own == process as i32), &format!("{process}: {who:?}"))?;
        }
        Ok(())
    };
    own().unwrap();
    for plain in kinds() {
        in_child_of(plain, own).unwrap();
    }
}

#[test]
#[ignore = "run by children_of_handlers_end_their_calls"]
fn child_asks() {
    forks_in("asks");
}

#[test]
#[ignore = "run by children_of_handlers_end_their_calls"]
fn child_makes_contexts() {
    forks_in("makes");
}

#[test]
#[ignore = "run by children_of_handlers_end_their_calls"]
fn child_switches() {
    forks_in("switches");
}

#[test]
#[ignore = "run by children_of_handlers_end_their_calls"]
fn child_jumps() {
    forks_in("jumps");
}

const FRAMES: &str = r#"
#include <alloca.h>
static __attribute__((noinline)) int constant(int n) {
    volatile int room[16];
    for (int i = 0; i < 2000; i++) room[i % 16] = n;
    return room[n % 16];
}
static __attribute__((noinline)) int computed(int n) {
    volatile char *room = alloca(n % 7 * 16 + 16);
    for (int i = 0; i < 2000; i++) room[i % 16] = n;
    return room[n % 16] + constant(n);
}
int frames(void) { int sum = 0; for (int n = 0; n < 300; n++) sum += computed(n); return sum; }
"#;

/// A handler forks while a domain's code runs in frames of all kinds, by a system call that nobody hears of, and goes on there in the child,
/// whose control stacks are zeros: no return leads anywhere but to the end of the call. Low memory is there, as in a program that lies where it
/// was linked for.
#[test]
fn children_that_nobody_hears_of_return_to_nothing() {
    let output = crate::common::in_child("forks::child_in_frames");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by children_that_nobody_hears_of_return_to_nothing"]
fn child_in_frames() {
    let _watchdog = crate::common::watchdog("a child that does not end");
    crate::common::host_sys::map_low_memory();
    let frames = Guest::c(FRAMES).export("int frames(void)").domain().bind::<Nullary>("frames").unwrap();
    let expected = frames.call().expect("a sum");
    let (well, all) = crate::common::host_sys::forks_in_handlers(libc::SIGUSR1, true, || {
        let first = frames.call();
        match crate::common::host_sys::is_forked_child() {
            true => matches!(first, Err(CallError::Forked)) || first.is_ok_and(|sum| sum == expected),
            false => first.is_ok_and(|sum| sum == expected),
        }
    });
    assert_eq!(well, all);
}

#[test]
fn a_child_has_domains_of_its_own_with_their_limits() {
    for plain in kinds() {
        in_child_of(plain, own_domain_works).unwrap();
        // A parent with a watcher, and a thread that has called.
        own_domain_works().unwrap();
        in_child_of(plain, own_domain_works).unwrap();
    }
}

const STATE: &str = r#"
#include <signal.h>
static long system_call(void) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(39) : "rcx", "r11", "memory");
    return r;
}
static unsigned get(void) { unsigned m; __asm__ volatile("stmxcsr %0" : "=m"(m)); return m; }
static void set(unsigned m) { __asm__ volatile("ldmxcsr %0" : : "m"(m)); }
static long seen[32];
static void look(int s) {
#define OUT(n) __asm__ volatile("movups %%xmm" #n ", (%0)" : : "r"(seen + 2 * n) : "memory");
    OUT(0) OUT(1) OUT(2) OUT(3) OUT(4) OUT(5) OUT(6) OUT(7)
    OUT(8) OUT(9) OUT(10) OUT(11) OUT(12) OUT(13) OUT(14) OUT(15)
}
int sum(void) {
    double sum = 0, x = 0.5;
    for (int i = 0; i < 10; i++, x += 0.5) { sum += x * 2; system_call(); }
    return sum;
}
int rounding(void) {
    signal(SIGUSR1, look);
    set(0x5f80);
    raise(SIGUSR1);
    unsigned was = get() & 0xffc0;
    set(0x1f80);
    return was;
}
int foreign(void) {
    int words = 0;
    for (int i = 0; i < 32; i++) words += seen[i] != 0;
    return words;
}
"#;

/// Gates of a child's domains keep what a module has in registers, and hide what the host has there, though the child opens no module. Red if
/// what there is to keep is known in the process alone that has looked.
#[test]
fn gates_in_a_child_keep_and_hide_registers() {
    let exports = ["int sum(void)", "int rounding(void)", "int foreign(void)"];
    let module = exports.into_iter().fold(Guest::c(STATE), Guest::export).module();
    let works = || {
        let domain = Domain::new(&module, DomainOptions::new()).map_err(|e| e.to_string())?;
        for (name, expected) in [("sum", 55), ("rounding", 0x5f80), ("foreign", 0)] {
            let found = domain.bind::<Nullary>(name).map_err(|e| e.to_string())?.call();
            expect(found.as_ref().is_ok_and(|n| *n == expected), &format!("{name}: {found:x?}"))?;
        }
        Ok(())
    };
    works().unwrap();
    for plain in kinds() {
        in_child_of(plain, works).unwrap();
        in_child_of(plain, || in_child_of(false, works)).unwrap();
    }
}

#[test]
fn children_of_children_have_them_too() {
    own_domain_works().unwrap();
    for plain in kinds() {
        in_child_of(false, || {
            own_domain_works()?;
            in_child_of(plain, || {
                own_domain_works()?;
                in_child_of(false, own_domain_works)
            })
        })
        .unwrap();
    }
}

#[test]
fn handles_of_the_parents_say_so() {
    let mut domain = domain(limited());
    let next = domain.bind::<Nullary>("next").unwrap();
    assert_eq!(next.call().unwrap(), 1);
    let at = domain.alloc_slice(&[7_i32]).unwrap();
    let region = Region::new(4096).unwrap();
    let grant = domain.grant(&region, Rights::ReadWrite).unwrap();
    for plain in kinds() {
        let domain = &mut domain;
        let grant = &grant;
        in_child_of(plain, || {
            let forked = |error: &CallError| matches!(error, CallError::Forked);
            expect(next.call().is_err_and(|e| forked(&e)), "a call")?;
            own_domain_works()?;
            expect(next.call().is_err_and(|e| forked(&e)), "a call, by a thread that has its own domains")?;
            let other =
                std::thread::scope(|scope| scope.spawn(|| next.call()).join()).map_err(|_| "thread")?;
            expect(other.is_err_and(|e| forked(&e)), "a call of another thread")?;
            let bound = domain.bind::<Nullary>("next");
            expect(matches!(bound, Err(BindError::Forked(_))), "a bind")?;
            expect(matches!(domain.read(at), Err(MemoryError::Forked(_))), "a read")?;
            expect(matches!(domain.write(at, 8), Err(MemoryError::Forked(_))), "a write")?;
            let allocated = domain.alloc::<u8>(8);
            expect(matches!(allocated, Err(AllocError::Call(CallError::Forked))), "an allocation")?;
            expect(domain.callback(host_of(|n| n)).is_none(), "a callback")?;
            expect(matches!(domain.reset(), Err(ResetError::Forked(_))), "a reset")?;
            expect(domain.usage().memory == 0 && domain.threads_inside() == 0, "what it uses")?;
            expect(domain.grant(&Region::new(4096).unwrap(), Rights::Read).is_err(), "a grant")?;
            expect(grant.rights().is_err(), "an old grant")?;
            domain.kill();
            let text = next.call().unwrap_err().to_string();
            expect(text.contains("belongs to the parent process"), &text)
        })
        .unwrap();
    }
    assert_eq!(next.call().unwrap(), 2, "the parent goes on");
    assert!(grant.rights().is_ok());
    assert_eq!(domain.read(at).unwrap().trust("compared"), 7);
}

fn host_of(body: impl Fn(i32) -> i32 + Send + Sync + 'static) -> HostFunction {
    HostFunction::new(move |_: &Domain, n: i32| body(n))
}

/// What a child drops, the parent still has: code, memory, lists.
#[test]
fn what_a_child_drops_the_parent_has() {
    let mut domain = Some(domain(limited().name("dropped")));
    let next = domain.as_ref().unwrap().bind::<Nullary>("next").unwrap();
    let mut twice = Some(domain.as_ref().unwrap().bind::<Nullary>("next").unwrap());
    let pointer = twice.as_ref().unwrap().as_ptr();
    assert_eq!(twice.as_ref().unwrap().call().unwrap(), 1);
    for plain in kinds() {
        in_child_of(plain, || {
            drop(twice.take());
            drop(domain.take());
            own_domain_works()
        })
        .unwrap();
    }
    assert_eq!(twice.as_ref().unwrap().call().unwrap(), 2);
    assert_eq!(twice.as_ref().unwrap().as_ptr(), pointer);
    assert_eq!(next.call().unwrap(), 3);
}

/// A child's function pointers lead where they led, whatever the parent makes of its own meanwhile.
#[test]
fn code_that_the_parent_uses_again_does_not_change_under_a_child() {
    let domain = domain(limited());
    let bind = || domain.bind::<Nullary>("next").unwrap();
    let old: Vec<Function<Nullary>> = (0..64).map(|_| bind()).collect();
    let write = crate::common::host_sys::shared_word();
    let child = crate::common::host_sys::start_child(|| {
        while write.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        old.iter().all(|function| matches!(function.call(), Err(CallError::Forked)))
    });
    drop(old);
    let new: Vec<_> = (0..64).map(|_| domain.bind::<Unary>("keep").unwrap()).collect();
    assert_eq!(new[0].call(1).unwrap(), 1);
    write.store(1, Ordering::Release);
    assert!(child.ended_well());
}

/// A fork in a host function: the child goes on in it, and its call of the domain ends when it returns.
#[test]
fn a_fork_inside_a_call_ends_the_call_in_the_child() {
    for plain in kinds() {
        for nested in [false, true] {
            let outcome = crate::common::host_sys::shared_word();
            let in_child = Arc::new(AtomicBool::new(false));
            let mark = in_child.clone();
            let host = host_of(move |n| {
                let child = crate::common::host_sys::fork_here(plain);
                if child != 0 {
                    crate::common::host_sys::wait_for(child);
                    return n;
                }
                mark.store(true, Ordering::Relaxed);
                if nested && let Err(what) = own_domain_works() {
                    eprintln!("in the child: {what}");
                    crate::common::host_sys::exit_now(3);
                }
                n
            });
            // Longer than the child takes, which the parent waits for.
            let domain = domain(limited().time_limit(Duration::from_secs(60)).gate("host", host));
            let next = domain.bind::<Nullary>("next").unwrap();
            let call_host = domain.bind::<Unary>("call_host").unwrap();
            next.call().unwrap();
            let result = call_host.call(4);
            if in_child.load(Ordering::Relaxed) {
                let again = call_host.call(4);
                let works = own_domain_works();
                let right = matches!((&result, &again), (Err(CallError::Forked), Err(CallError::Forked)));
                if !right || works.is_err() {
                    eprintln!("in the child: {result:?} {again:?} {works:?}");
                }
                outcome.store(if right && works.is_ok() { 1 } else { 2 }, Ordering::Release);
                crate::common::host_sys::exit_now(0);
            }
            assert_eq!(result.unwrap(), 5, "the parent goes on");
            assert_eq!(outcome.load(Ordering::Acquire), 1, "plain {plain}, nested {nested}");
        }
    }
}

/// A child that makes domains of its own in a function that a domain has called, and afterwards, has none of its parent's by that: one that is sealed,
/// whose memory nobody can take away, is refused as well. Red if a gate gives the thread its place in it back, in the table that the child has made: the
/// call is made. (Where the kernel has put the reservation decides whether the stacks of a sealed domain can be taken away: in about half of all processes
/// they cannot.)
#[test]
fn a_childs_own_domains_open_none_of_its_parents() {
    for _ in 0..8 {
        let output = crate::common::in_child("forks::child_has_own_domains");
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
#[ignore = "run by a_childs_own_domains_open_none_of_its_parents"]
fn child_has_own_domains() {
    let outcome = crate::common::host_sys::shared_word();
    let in_child = Arc::new(AtomicBool::new(false));
    let mark = in_child.clone();
    let host = host_of(move |n| {
        let child = crate::common::host_sys::fork_here(false);
        if child != 0 {
            crate::common::host_sys::wait_for(child);
            return n;
        }
        mark.store(true, Ordering::Relaxed);
        match own_domain_works() {
            Ok(()) => n,
            Err(_) => crate::common::host_sys::exit_now(3),
        }
    });
    let domain = domain(limited().time_limit(Duration::from_secs(60)).seal(true).gate("host", host));
    let next = domain.bind::<Nullary>("next").unwrap();
    let result = domain.bind::<Unary>("call_host").unwrap().call(4);
    if in_child.load(Ordering::Relaxed) {
        // The thread may call domains again, and goes the fast way behind a call that works.
        let own = crate::common::started(&module(), patient());
        let own_next = own.bind::<Nullary>("next").unwrap();
        let again: Vec<_> = (0..3).map(|_| own_next.call().and_then(|_| next.call())).collect();
        let right = [result].iter().chain(&again).all(|call| matches!(call, Err(CallError::Forked)));
        if !right {
            eprintln!("in the child: {again:?}");
        }
        outcome.store(if right { 1 } else { 2 }, Ordering::Release);
        crate::common::host_sys::exit_now(0);
    }
    assert_eq!(result.unwrap(), 4, "the parent goes on");
    assert_eq!(outcome.load(Ordering::Acquire), 1);
}

/// What a host function that has forked says in the child is the child's: its panic comes out of its call there.
#[test]
fn a_panic_after_a_fork_inside_a_call_comes_out_in_the_child() {
    for raw in [false, true] {
        let outcome = crate::common::host_sys::shared_word();
        let host = host_of(|n| {
            let child = crate::common::host_sys::fork_here(false);
            if child == 0 {
                panic!("the child's");
            }
            crate::common::host_sys::wait_for(child);
            n
        });
        let parent = std::process::id();
        let domain = domain(limited().time_limit(Duration::from_secs(60)).gate("host", host));
        let call_host = domain.bind::<Unary>("call_host").unwrap();
        let result = match raw {
            false => call_host.call(4),
            true => {
                let value = crate::common::host_sys::call_by_pointer(call_host.as_ptr(), 4);
                lockgate::take_call_error().map_or(Ok(value as i32), Err)
            }
        };
        if std::process::id() != parent {
            let panic =
                matches!(&result, Err(CallError::Panic(panic)) if panic.to_string().contains("the child's"));
            let again = matches!(call_host.call(4), Err(CallError::Forked));
            outcome.store(if panic && again { 1 } else { 2 }, Ordering::Release);
            crate::common::host_sys::exit_now(0);
        }
        assert_eq!(result.unwrap(), 4, "the parent goes on");
        assert_eq!(outcome.load(Ordering::Acquire), 1, "raw {raw}");
    }
}

/// The limit of a call of the parent's, in which the child was forked, is not that of the child's calls.
#[test]
fn limits_of_the_parents_calls_do_not_end_the_childs() {
    module();
    let in_child = Arc::new(AtomicBool::new(false));
    let mark = in_child.clone();
    let child = Arc::new(AtomicUsize::new(0));
    let number = child.clone();
    let host = host_of(move |n| {
        let forked = crate::common::host_sys::fork_here(false);
        if forked != 0 {
            number.store(forked as usize, Ordering::Relaxed);
            return n;
        }
        mark.store(true, Ordering::Relaxed);
        let own = domain(patient());
        let work = own.bind::<Unary>("work").unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(1) {
            let worked = work.call(10_000_000);
            if worked.is_err() {
                eprintln!("in the child: {worked:?}");
                crate::common::host_sys::exit_now(3);
            }
        }
        crate::common::host_sys::exit_now(0)
    });
    let domain = domain(DomainOptions::new().time_limit(Duration::from_millis(200)).gate("host", host));
    let called = domain.bind::<Unary>("call_host").unwrap().call(4);
    assert!(!in_child.load(Ordering::Relaxed));
    drop(called); // a busy machine may take longer for a fork
    assert!(crate::common::host_sys::wait_for(child.load(Ordering::Relaxed) as i32));
}

/// Resets look at the memory of the process that asks.
#[test]
fn a_reset_in_a_child_forgets_the_last_tenant() {
    let pool = Pool::new(&module(), limited(), 2);
    let tenant = || -> Result<i32, String> {
        let domain = pool.take().map_err(|e| e.to_string())?;
        let kept = domain.bind::<Nullary>("kept").map_err(|e| e.to_string())?.call();
        domain.bind::<Unary>("keep").map_err(|e| e.to_string())?.call(1).map_err(|e| e.to_string())?;
        kept.map_err(|e| e.to_string())
    };
    for _ in 0..3 {
        assert_eq!(tenant().unwrap(), 0);
    }
    let lent = pool.take().unwrap();
    for plain in kinds() {
        in_child_of(plain, || {
            expect(pool.ready() == 0, "the parent's domains are not in the child's pool")?;
            for _ in 0..4 {
                expect(tenant()? == 0, "a tenant found what the last one left")?;
            }
            expect(pool.ready() == 1, "the child's pool keeps its own")
        })
        .unwrap();
    }
    in_child_of(false, || {
        drop(lent);
        expect(pool.ready() == 0, "a domain of the parent's went into the child's pool")?;
        tenant().map(drop)
    })
    .unwrap();
    assert_eq!(tenant().unwrap(), 0);
}

#[test]
fn workers_start_again_in_a_child() {
    let workers = Workers::new(2, 10).unwrap();
    let host = host_of(|n| {
        std::thread::sleep(Duration::from_millis(n as u64));
        n
    });
    let parents = domain(DomainOptions::new().gate("host", host));
    let call_host = parents.bind::<Unary>("call_host").unwrap();
    let pending = call_host.call_async(&workers, 300).unwrap();
    in_child_of(false, || {
        expect(workers.pending() == 0, "calls of the parent's are not the child's")?;
        expect(pending.has_ended(), "nobody works at it")?;
        pending.cancel();
        let waited = pending.wait_timeout(Duration::from_secs(60));
        expect(matches!(waited, Some(Err(CallError::Forked))), "a wait without end")?;
        let refused = call_host.call_async(&workers, 1);
        expect(matches!(refused, Err(CallError::Forked)), "a call of the parent's domain")?;
        let own = domain(limited());
        let next = own.bind::<Nullary>("next").map_err(|e| e.to_string())?;
        let called = next.call_async(&workers).map_err(|e| e.to_string())?.wait();
        expect(matches!(called, Ok(1)), "a call of an own domain")?;
        let spin = own.bind::<Nullary>("spin").map_err(|e| e.to_string())?;
        let late =
            spin.call_async(workers.within(Duration::from_millis(50))).map_err(|e| e.to_string())?.wait();
        expect(matches!(late, Err(CallError::Deadline(_) | CallError::Fault(_))), "a deadline")
    })
    .unwrap();
    assert_eq!(pending.wait().unwrap(), 300);
    drop(workers);
}

/// A server that has opened its modules, and forks workers, pays for their verification once: a worker does not even read a file that its parent
/// knows, and without that there is nothing to verify. The parent's own module it has anyhow.
#[test]
fn workers_verify_nothing_that_their_parent_has() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("served.so");
    std::fs::write(&path, Guest::c_with("int answer(void) { return 42; }", &["-O2", "-g"]).build())
        .expect("the scratch folder is writable");
    // (A file that has just been written may change without a new time stamp: nothing about it is remembered.)
    std::thread::sleep(Duration::from_millis(100));
    let uses = Uses::of(&path);
    let open = || Library::open(&path, Mode::NOW, &Options::default());
    let library = open().expect("the library opens");
    let (opened, accessed) = uses.look();
    assert!(opened > 0 && accessed > 0, "the parent has read it: {opened}, {accessed}");
    for plain in kinds() {
        let done = in_child_of(plain, || {
            let library = open().map_err(|error| error.to_string())?;
            expect(library.function("int answer(void)").is_ok(), "the worker's library has its functions")?;
            own_domain_works()
        });
        assert_eq!(done, Ok(()));
        let (opened, accessed) = uses.look();
        assert!(opened > 0, "the worker has opened the file");
        assert_eq!(accessed, 0, "a worker read what its parent had verified");
    }
    library.close().expect("it is open");
}

#[test]
fn registries_and_regions_work_in_a_child() {
    let registry = Registry::new();
    let server = domain(limited());
    let export = || Export::new("next", Version::new(1, 0)).of("int next(void)").allow(Allow::Everyone);
    registry.export(&server, export()).unwrap();
    let region = Region::new(8192).unwrap();
    let before = region.slice::<i32>(0, 1).unwrap();
    before.write(0, &[41]).unwrap();
    in_child_of(false, || {
        expect(registry.names().is_empty(), "names of the parent's are not served")?;
        let own = domain(limited());
        let refused = registry.export(&server, export());
        expect(refused.is_err(), "an export of the parent's domain")?;
        registry.export(&own, export()).map_err(|e| e.to_string())?;
        let bound =
            registry.bind::<Nullary>(&Principal::process(), &Request::new("next", Version::new(1, 0)));
        let called = bound.map_err(|e| e.to_string())?.call();
        expect(matches!(called, Ok(1)), "a call through the registry")?;
        // A region of the child's own first: the parent's, whose memory is shared, does not lie in its place.
        let other = Region::new(4096).map_err(|e| e.to_string())?;
        let both = [own.grant(&other, Rights::ReadWrite), own.grant(&region, Rights::ReadWrite)];
        let [other_grant, grant] = both.map(|granted| granted.map_err(|e| e.to_string()));
        let (_other_grant, grant) = (other_grant?, grant?);
        let first = own.bind::<extern "C" fn(Pointer<i32>) -> i32>("first").map_err(|e| e.to_string())?;
        let at = grant.pointer::<i32>(0).map_err(|e| e.to_string())?;
        expect(matches!(first.call(at), Ok(41)), "the region of the parent's")
    })
    .unwrap();
    assert_eq!(registry.names().len(), 1);
}

/// Each process has a table of its own for `ps` and `top`.
#[test]
fn a_child_is_listed_by_itself() {
    let parents = domain(limited().name("of the parent"));
    in_child_of(false, || {
        let listed = || -> Result<Vec<String>, String> {
            let seen = Observer::new(std::process::id()).and_then(|observer| observer.look());
            Ok(seen.map_err(|e| e.to_string())?.domains.into_iter().map(|domain| domain.name).collect())
        };
        let own = domain(limited().name("of the child"));
        let names = listed()?;
        expect(names.iter().filter(|name| *name == "of the child").count() == 1, &format!("{names:?}"))?;
        expect(!names.iter().any(|name| name == "of the parent"), &format!("{names:?}"))?;
        drop(own);
        expect(!listed()?.iter().any(|name| name == "of the child"), "it is gone")
    })
    .unwrap();
    let seen = Observer::new(std::process::id()).unwrap().look().unwrap();
    assert_eq!(seen.domains.iter().filter(|domain| domain.name == "of the parent").count(), 1);
    assert!(!seen.domains.iter().any(|domain| domain.name == "of the child"));
    drop(parents);
}

/// The same by the plain system call, which no handler hears of, where no other thread is in the middle of something.
#[test]
fn a_child_that_no_handler_heard_of_notices_by_itself() {
    const TESTS: [&str; 6] = [
        "a_child_has_domains_of_its_own_with_their_limits",
        "children_of_children_have_them_too",
        "handles_of_the_parents_say_so",
        "what_a_child_drops_the_parent_has",
        "a_fork_inside_a_call_ends_the_call_in_the_child",
        "a_reset_in_a_child_forgets_the_last_tenant",
    ];
    for test in support::Part::one_in(2, "children of plain forks").among(TESTS) {
        let mut command = crate::common::own_test(&format!("forks::{test}"));
        command.env("LOCKGATE_PLAIN_FORKS", "1");
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{test}: {text}");
    }
}

/// Forks at whatever other threads are doing: calls, time limits, binds, domains, modules, pools, registries, asynchronous calls. Each
/// child uses all of it. `LOCKGATE_FORKS` says how many (200).
#[test]
fn a_fork_in_the_middle_of_anything_leaves_a_child_that_works() {
    module();
    let forks = std::env::var("LOCKGATE_FORKS").ok().and_then(|n| n.parse().ok()).unwrap_or(200_usize);
    let bytes = Guest::c("int one(void) { return 1; }").build();
    let (pool, registry) = (Pool::new(&module(), patient(), 2), Registry::new());
    let shared = domain(patient());
    let next = shared.bind::<Nullary>("next").unwrap();
    let workers = Workers::new(2, 100).unwrap();
    let (over, rounds, forked) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let export = |name: &str| Export::new(name, Version::new(1, 0)).allow(Allow::Everyone);
    let round = |number: usize| -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        match number % 6 {
            0 => {
                let module = Module::from_bytes(&bytes).map_err(|e| text(&e))?;
                let domain = Domain::new(&module, DomainOptions::new()).map_err(|e| text(&e))?;
                let one = domain.bind::<Nullary>("one").map_err(|e| text(&e))?;
                expect(matches!(one.call(), Ok(1)), "one")
            }
            1 => {
                let domain = pool.take().map_err(|e| text(&e))?;
                let next = domain.bind::<Nullary>("next").map_err(|e| text(&e))?;
                expect(matches!(next.call(), Ok(1)), "of a pool")
            }
            2 => {
                // A busy machine may not even start it in that time.
                let options = DomainOptions::new().time_limit(Duration::from_millis(20));
                let Ok(domain) = Domain::new(&module(), options) else { return Ok(()) };
                let spun = domain.bind::<Nullary>("spin").map_err(|e| text(&e))?.call();
                expect(spun.is_err(), "spin")
            }
            3 => {
                let domain = domain(patient());
                let next =
                    domain.bind_with::<Nullary>("next", Policy::MUTUAL_DISTRUST).map_err(|e| text(&e))?;
                let called = next.call_async(&workers).map_err(|e| text(&e))?.wait();
                expect(matches!(called, Ok(1)), "asynchronous")
            }
            4 => {
                let name = format!("name {:?}", std::thread::current().id());
                let domain = domain(patient().name(&name));
                registry.export(&domain, export(&name).of("int next(void)")).map_err(|e| text(&e))?;
                let request = Request::new(&name, Version::new(1, 0));
                let bound =
                    registry.bind::<Nullary>(&Principal::process(), &request).map_err(|e| text(&e))?;
                let called = bound.call();
                registry.unexport(&name).map_err(|e| text(&e))?;
                expect(matches!(called, Ok(1)), "by name")
            }
            _ => {
                let domain = domain(patient());
                let crashed = domain.bind::<Nullary>("crash").map_err(|e| text(&e))?.call();
                let _ = crashed.map_err(|e| text(&e));
                domain.close();
                Ok(())
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (over, rounds, round, next) = (&over, &rounds, &round, &next);
            scope.spawn(move || {
                let mut number = thread;
                while !over.load(Ordering::Relaxed) {
                    round(number).unwrap();
                    next.call().unwrap();
                    rounds.fetch_add(1, Ordering::Relaxed);
                    number += 1;
                }
            });
        }
        // Several fork: at the same time as the others, and each is in the middle of something for the rest.
        let forkers: Vec<_> = (0..4)
            .map(|_| {
                let (over, forked, round, next) = (&over, &forked, &round, &next);
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        let number = forked.fetch_add(1, Ordering::Relaxed);
                        if number >= forks {
                            break;
                        }
                        let done = in_child_of(false, || {
                            let called = next.call();
                            expect(matches!(called, Err(CallError::Forked)), "the parent's function")?;
                            round(number / 8)
                        });
                        if done.is_err() {
                            over.store(true, Ordering::Relaxed);
                        }
                        done.unwrap_or_else(|what| panic!("fork {number}: {what}"));
                    }
                })
            })
            .collect();
        let ended: Vec<_> = forkers.into_iter().map(|forker| forker.join()).collect();
        over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok), "a child failed");
    });
    assert!(rounds.load(Ordering::Relaxed) > 0);
}

/// A child that shares the process's memory is the thread that waits for it in all but its number: its calls are that thread's, and end as
/// they do anywhere.
#[test]
fn a_child_that_shares_memory_is_the_thread_that_made_it() {
    let domain = Guest::c(SOURCE).gate("int host(int)").module();
    let seen = Arc::new(AtomicUsize::new(0));
    let again = seen.clone();
    // Within a call, on another stack than that is on: as any coroutine.
    let host = HostFunction::new(move |domain: &Domain, n: i32| {
        let next = domain.bind::<Nullary>("next").expect("an export");
        let child = || match next.call() {
            Err(CallError::TooDeep) => 7,
            other => panic!("{other:?}"),
        };
        again.store(in_child_that_shares(child).into(), Ordering::Relaxed);
        n
    });
    let domain = crate::common::started(&domain, patient().gate("host", host));
    let next = domain.bind::<Nullary>("next").unwrap();
    let crash = domain.bind::<Nullary>("crash").unwrap();
    assert_eq!(next.call().unwrap(), 1);
    let child = || match crash.call() {
        Err(CallError::Fault(fault)) if fault.kind() == FaultKind::Segv => next.call().unwrap_or(-1) as u8,
        _ => 0,
    };
    for round in 1..20_u8 {
        assert_eq!(in_child_that_shares(child), 2 * round);
        assert_eq!(next.call().unwrap(), i32::from(2 * round + 1), "the memory is one");
    }
    let call_host = domain.bind::<Unary>("call_host").unwrap();
    assert_eq!((call_host.call(5).unwrap(), seen.load(Ordering::Relaxed)), (44, 7));
    assert!(crash.call().unwrap_err().fault().is_some(), "the thread is as it was");
    assert_eq!(next.call().unwrap(), 40);
}

/// Whoever starts programs, which takes a child that shares the process's memory, does so from a host function, too, while domains are killed.
#[test]
fn programs_are_started_while_domains_end() {
    let over = AtomicBool::new(false);
    let guest = Guest::c(SOURCE).gate("int host(int)").module();
    let host = host_of(|n| n + i32::from(std::process::Command::new("true").status().unwrap().success()));
    let domain = crate::common::started(&guest, patient().gate("host", host));
    let call_host = domain.bind::<Unary>("call_host").unwrap();
    let started = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let doomed = self::domain(patient());
                let spin = doomed.bind::<Nullary>("spin").unwrap();
                std::thread::scope(|inner| {
                    let spinning = inner.spawn(|| spin.call());
                    doomed.kill();
                    spinning.join().unwrap().expect_err("it is killed, or never began");
                });
            }
        });
        let started: Vec<_> = (0..50).map(|n| call_host.call(n)).collect();
        over.store(true, Ordering::Relaxed);
        started
    });
    for (n, started) in (0..).zip(started) {
        assert_eq!(started.unwrap(), n + 1);
    }
}

/// A program's own handlers of forks run while the library keeps others from forking, if they were there before the library's: they may use
/// it all the same. Red (without an end) if a thread that forks takes the lock that it has.
#[test]
fn handlers_of_forks_may_use_the_library() {
    let output = in_child("forks::child_with_handlers_of_its_own");
    assert!(String::from_utf8_lossy(&output.stdout).contains("asked 3 times"), "{output:?}");
}

#[test]
#[ignore = "run by handlers_of_forks_may_use_the_library"]
fn child_with_handlers_of_its_own() {
    static DOMAIN: std::sync::OnceLock<Domain> = std::sync::OnceLock::new();
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn ask() {
        let Some(domain) = DOMAIN.get() else { return };
        let next = domain.bind::<Nullary>("next").map(|next| next.call());
        // A child has none of its parent's.
        let forked = matches!(next, Err(BindError::Forked(_)) | Ok(Err(CallError::Forked)));
        assert!(forked || matches!(next, Ok(Ok(_))), "{next:?}");
        assert!(Domain::new(&module(), patient()).is_ok());
        ASKED.fetch_add(1, Ordering::SeqCst);
    }
    crate::common::host_sys::end_in(60);
    at_forks(ask);
    let _ = DOMAIN.set(domain(patient()));
    ask();
    in_child_of(false, || match ASKED.load(Ordering::SeqCst) {
        3 => Ok(()),
        asked => Err(format!("asked {asked} times")),
    })
    .unwrap();
    println!("asked {} times", ASKED.load(Ordering::SeqCst));
}
