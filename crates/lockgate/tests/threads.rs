//! Threads in domains: those of the host, and those that modules start (docs/limits.md).

use crate::common::{Guest, host_sys, watchdog};
use crate::handlers_sys::raise;
use lockgate::{CallError, Domain, DomainOptions, FaultKind, HostFunction, Module, ResetError};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, LazyLock};
use std::time::Duration;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
void host(long);
static _Thread_local long own = 5;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int open_gate;
static volatile long spins;
long add_own(long n) { errno = (int)n; return own += n; }
long last_error(void) { return errno; }
long call_host(long n) { host(n); return n; }
static void *wait_open(void *unused) {
    pthread_mutex_lock(&mutex);
    while (!open_gate) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}
static void *spin(void *unused) { for (;;) spins++; return unused; }
static void *crash(void *unused) { __builtin_trap(); return unused; }
static void *add(void *n) { own += (long)n; return (void *)own; }
static void *(*const bodies[])(void *) = {wait_open, spin, crash};
/* Starts threads until it has n; the number of those, or a negative error. */
long start(long body, long n) {
    for (long i = 0; i < n; i++) {
        pthread_t thread;
        int error = pthread_create(&thread, NULL, bodies[body], NULL);
        if (error) return i ? i : -error;
        pthread_detach(thread);
    }
    return n;
}
/* Starts one, and waits for its end. */
long joins(long body) {
    pthread_t thread;
    return pthread_create(&thread, NULL, bodies[body], NULL) || pthread_join(thread, NULL);
}
void let_go(void) { pthread_mutex_lock(&mutex); open_gate = 1; pthread_cond_broadcast(&condition); pthread_mutex_unlock(&mutex); }
long sum(long n) {
    pthread_t threads[8];
    long total = 0;
    for (long i = 0; i < n; i++) if (pthread_create(&threads[i], NULL, add, (void *)i)) return -1;
    for (long i = 0; i < n; i++) { void *result; pthread_join(threads[i], &result); total += (long)result; }
    return total;
}
/* Where a thread's stack is: it runs there, all of it can be used, and it is as large as the limit says. */
static long has_stack(void) {
    pthread_attr_t attributes;
    struct rlimit limit;
    void *low;
    size_t size;
    volatile char here = 1;
    if (pthread_getattr_np(pthread_self(), &attributes) || pthread_attr_getstack(&attributes, &low, &size)) return 1;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur != size) return 2;
    if ((uintptr_t)&here - (uintptr_t)low >= size) return 3;
    ((volatile char *)low)[0] = ((volatile char *)low)[size - 1];
    return 0;
}
static void *in_thread(void *others) {
    pthread_attr_t attributes;
    void *low, *own = &attributes;
    size_t size;
    pthread_getattr_np((pthread_t)others, &attributes), pthread_attr_getstack(&attributes, &low, &size);
    return (void *)(has_stack() ? 4 : (uintptr_t)own - (uintptr_t)low < size ? 5 : 0L);
}
long stack_of_host(void) { return has_stack(); }
long stack_of_thread(void) {
    pthread_t thread;
    void *result;
    if (pthread_create(&thread, NULL, in_thread, (void *)pthread_self()) || pthread_join(thread, &result)) return 6;
    return (long)result;
}
static int cleaned;
static void clean(void *at) { cleaned += *(int *)at; }
static void *end_in_host(void *unused) {
    int one = 1;
    pthread_cleanup_push(clean, &one);
    host(7);
    pthread_cleanup_pop(0);
    return unused;
}
static pthread_t ending[8];
long start_ending(long n) {
    for (long i = 0; i < n; i++) if (pthread_create(&ending[i], NULL, end_in_host, NULL)) return i;
    return n;
}
/* How many of them the host has ended, and how many have cleaned up. */
long join_ending(long n) {
    long ended = 0;
    for (long i = 0; i < n; i++) { void *result = NULL; pthread_join(ending[i], &result); ended += result == PTHREAD_CANCELED; }
    return ended * 100 + cleaned;
}
static pthread_key_t at_end;
static void call_at_end(void *value) { host((long)value); }
long keep_for_end(long value) {
    if (!at_end && pthread_key_create(&at_end, call_at_end)) return -1;
    return pthread_setspecific(at_end, (void *)value);
}
static void fault_at_end(void *unused) { (void)unused; __builtin_trap(); }
static void stay_at_end(void *unused) { (void)unused; for (;;) pause(); }
static void spin_at_end(void *unused) { (void)unused; for (;;) spins++; }
static void *tells_and_spins(void *unused) { host(1); for (;;) spins++; return unused; }
long has_spun(void) { return spins; }
long join_spinning(long n) {
    pthread_t thread;
    return pthread_create(&thread, NULL, tells_and_spins, NULL) || pthread_join(thread, NULL) ? 1 : 2;
}
static void *ends_twice(void *unused) { return keep_for_end(7) ? NULL : end_in_host(unused); }
long join_ended_twice(long n) {
    pthread_t thread;
    return pthread_create(&thread, NULL, ends_twice, NULL) || pthread_join(thread, NULL) ? 1 : 2;
}
static pthread_key_t at_bad_end;
/* Leaves all that a thread has of its own; its end faults, or does not come. */
long leave_behind(long how) {
    void (*const ends[])(void *) = {fault_at_end, stay_at_end, spin_at_end};
    own = 99;
    errno = 99;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    uselocale(newlocale(LC_ALL_MASK, "C.UTF-8", NULL));
    if (pthread_key_create(&at_bad_end, ends[how])) return -1;
    return pthread_setspecific(at_bad_end, &own);
}
/* What is not as a new thread has it. */
long left_behind(void) {
    long error = errno;
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    int kept = at_end && pthread_getspecific(at_end) || at_bad_end && pthread_getspecific(at_bad_end);
    return (own != 5) | (error != 0) << 1 | (state != PTHREAD_CANCEL_ENABLE) << 2 | kept << 3 | (uselocale(0) != LC_GLOBAL_LOCALE) << 4;
}
long spin_for_good(void) { for (;;) __asm__ volatile(""); return 0; }
static int leave(void *unused) { for (;;) syscall(SYS_exit, 0); return unused != 0; }
static long place[16];
static struct { int (*function)(void *); void *argument; void *thread_pointer; } begin = {leave, 0, place};
static const long thread_flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
long forge(long without, long number, long clear) {
    long result = syscall(SYS_clone, thread_flags & ~without, &begin, number ? number : (long)&place[8], clear, 0);
    return result < 0 ? -errno : 1;
}
"#;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).gate("void host(long)").module());

type Nullary = extern "C" fn() -> i64;
type Unary = extern "C" fn(i64) -> i64;
type Binary = extern "C" fn(i64, i64) -> i64;

fn domain(options: DomainOptions) -> Domain {
    crate::common::started(&MODULE, options.memory_limit(256 << 20))
}

/// Waits until so many threads have a place in the domain.
fn until_threads(domain: &Domain, threads: u32) {
    while domain.usage().threads != threads {
        std::thread::yield_now();
    }
}

/// Keys come and go on any thread, whichever made the domain. Red if that one has no values before it makes a key itself: libc goes through those of
/// all threads.
#[test]
fn keys_are_deleted_on_any_thread() {
    let source = "
        #include <pthread.h>
        int fine(void) { return 1; }
        int key(void) {
            pthread_key_t key;
            if (pthread_key_create(&key, 0) || pthread_setspecific(key, &key)) return -1;
            return pthread_key_delete(key);
        }";
    let domain = Guest::c(source).domain();
    let call = |name: &str| domain.bind::<extern "C" fn() -> i32>(name).unwrap().call().unwrap();
    assert_eq!(call("fine"), 1, "the domain's first thread is this one");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            assert_eq!(scope.spawn(|| call("key")).join().expect("no panic"), 0);
        }
    });
    assert_eq!(call("key"), 0);
}

/// A thread that has called a domain ends behind libc's back, and its stack, with what libc has for it, goes back to the kernel: it has no calls
/// in progress. Red if others look at its block as that of a living thread: the process ends, in a call of the library's or in the watcher.
#[test]
fn a_thread_that_ends_behind_libcs_back_is_in_no_call() {
    // More than libc keeps for later threads.
    const STACK: usize = 64 << 20;
    let domain = domain(DomainOptions::new().time_limit(Duration::from_millis(50)));
    let add_own = domain.bind::<Unary>("add_own").unwrap();
    host_sys::on_a_stack_of(STACK, || {
        crate::common::in_time(|| add_own.call(1)).unwrap();
        host_sys::end_without_libc();
    });
    assert_eq!((domain.usage().calls, domain.threads_inside()), (0, 0));
    let spin = domain.bind::<Nullary>("spin_for_good").unwrap();
    let error = spin.call().expect_err("the watcher looks at all threads, and ends this call");
    assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
    assert_eq!(crate::common::in_time(|| add_own.call(0)).unwrap(), 5);
}

/// All 64 at once, each with storage of its own.
#[test]
fn as_many_threads_as_slots_have_storage_of_their_own() {
    let domain = domain(DomainOptions::new());
    let add_own = domain.bind::<Unary>("add_own").unwrap();
    let last_error = domain.bind::<Nullary>("last_error").unwrap();
    assert_eq!(add_own.call(0).unwrap(), 5);
    let others = lockgate_abi::stack::SLOTS as i64 - 1;
    let together = Barrier::new(others as usize);
    std::thread::scope(|scope| {
        let one = |n: i64| {
            assert_eq!(add_own.call(n).unwrap(), 5 + n);
            together.wait();
            assert_eq!(add_own.call(n).unwrap(), 5 + 2 * n);
            assert_eq!(last_error.call().unwrap(), n);
            together.wait();
        };
        for n in 1..=others {
            scope.spawn(move || one(n));
        }
    });
    // A scope does not wait for what its threads do at their very end.
    until_threads(&domain, 1);
    assert_eq!(add_own.call(0).unwrap(), 5, "the first thread's");
    assert_eq!(domain.usage().calls, 0);
}

/// The thread that made a domain has its first place, whose storage stays when it ends: the next one finds it as a new thread does, and what
/// was kept for the thread's end has come to it. Red if the storage is taken over as it is, also where the module's own code faults then.
#[test]
fn no_thread_finds_what_the_first_one_has_left() {
    let told = Arc::new(AtomicI64::new(0));
    let (heard, tells) = (told.clone(), told.clone());
    let host = HostFunction::new(move |_: &Domain, n: i64| {
        tells.fetch_add(n, Ordering::SeqCst);
    });
    let options = DomainOptions::new().gate("host", host);
    for faults in [false, true] {
        let domain = std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                let domain = domain(options.clone());
                let [keep, leave] =
                    ["keep_for_end", "leave_behind"].map(|name| domain.bind::<Unary>(name).unwrap());
                assert_eq!(keep.call(7).unwrap(), 0);
                if faults {
                    assert_eq!(leave.call(0).unwrap(), 0);
                } else {
                    assert_eq!(domain.bind::<Unary>("add_own").unwrap().call(3).unwrap(), 8);
                }
                domain
            });
            made.join().unwrap()
        });
        until_threads(&domain, 0);
        assert_eq!(heard.swap(0, Ordering::SeqCst), 7, "{faults}: what was kept for the end");
        for _ in 0..2 {
            let left = std::thread::scope(|scope| {
                scope.spawn(|| domain.bind::<Nullary>("left_behind").unwrap().call().unwrap()).join().unwrap()
            });
            assert_eq!(left, 0, "{faults}");
            until_threads(&domain, 0);
        }
    }
}

/// A thread ends though what a module without a time limit does then never ends, which waits or computes. Red, by the watchdog, without a limit
/// for that, or without what kicks the thread: no domain here has one.
#[test]
fn a_thread_ends_whatever_a_module_does_then() {
    let _watchdog = watchdog("a thread that a module keeps from its end");
    let domains = [1, 2].map(|how| (how, domain(DomainOptions::new())));
    let leave = domains.each_ref().map(|(how, domain)| (*how, domain.bind::<Unary>("leave_behind").unwrap()));
    std::thread::scope(|scope| {
        for (how, leave) in &leave {
            scope.spawn(move || assert_eq!(leave.call(*how).unwrap(), 0));
        }
    });
    for (_, domain) in &domains {
        until_threads(domain, 1);
        assert_eq!(domain.bind::<Unary>("add_own").unwrap().call(1).unwrap(), 6, "the domain goes on");
    }
}

/// A host thread that ends in a host function leaves no call, no place and no lock behind.
/// A module that starts no threads itself has no pthread_create, but what ends a host thread's storage.
#[test]
fn values_of_a_host_thread_are_destroyed_when_it_ends() {
    let source = "#include <pthread.h>
        static pthread_key_t key;
        static long sum;
        static void add(void *value) { sum += (long)value; }
        long prepare(void) { return pthread_key_create(&key, add); }
        long keep(long value) { return pthread_setspecific(key, (void *)value); }
        long total(void) { return sum; }";
    let domain = Domain::new(&Guest::c(source).module(), DomainOptions::new()).unwrap();
    let keep = domain.bind::<Unary>("keep").unwrap();
    let total = domain.bind::<Nullary>("total").unwrap();
    assert_eq!(domain.bind::<Nullary>("prepare").unwrap().call().unwrap(), 0);
    for value in [30, 12] {
        std::thread::scope(|scope| scope.spawn(|| keep.call(value).unwrap()).join().unwrap());
    }
    until_threads(&domain, 1);
    assert_eq!(total.call().unwrap(), 42);
}

#[test]
fn a_thread_may_end_in_a_host_function() {
    let _watchdog = watchdog("a thread that ends in a host function");
    let domain = domain(DomainOptions::new().exclusive(None).gate("host", host_sys::thread_exit()));
    let call_host = domain.bind::<Unary>("call_host").unwrap();
    let last_error = domain.bind::<Nullary>("last_error").unwrap();
    for n in 1..100 {
        let call_host = &call_host;
        let ended = host_sys::on_plain_thread(move || panic!("returned: {:?}", call_host.call(n)));
        assert_eq!(ended, n as u64);
    }
    assert_eq!((domain.usage().threads, domain.usage().calls), (1, 0));
    assert_eq!(last_error.call().unwrap(), 0, "the domain goes on");
}

/// A module that keeps a value for a thread's end calls the host then, which ends the thread once more, out of the library's own frames.
/// Red, by a place that is lost and a thread that the watcher still looks for, if the library's list of threads keeps it.
#[test]
fn a_thread_may_end_once_more_while_it_ends() {
    let _watchdog = watchdog("a thread that ends twice");
    let domain = domain(DomainOptions::new().gate("host", host_sys::thread_exit()));
    let other = self::domain(DomainOptions::new());
    let (keep, add) =
        (domain.bind::<Unary>("keep_for_end").unwrap(), other.bind::<Unary>("add_own").unwrap());
    assert_eq!((keep.call(0).unwrap(), add.call(0).unwrap()), (0, 5));
    for value in 1..20 {
        let (keep, add) = (&keep, &add);
        host_sys::on_plain_thread(move || {
            assert_eq!(keep.call(value).unwrap(), 0);
            assert_eq!(add.call(value).unwrap(), 5 + value);
        });
        for domain in [&domain, &other] {
            assert_eq!((domain.usage().threads, domain.usage().calls), (1, 0));
        }
    }
}

/// Red without what the library does when such a thread ends: its place, the domain's turn and whoever waits for it are lost.
#[test]
fn a_modules_thread_may_end_in_a_host_function() {
    let _watchdog = watchdog("a module's thread that ends in a host function");
    for exclusive in [false, true] {
        let options = DomainOptions::new().max_guest_threads(5).gate("host", host_sys::thread_exit());
        let domain = domain(if exclusive { options.exclusive(None) } else { options });
        let [start, join] = ["start_ending", "join_ending"].map(|name| domain.bind::<Unary>(name).unwrap());
        for round in 1..=20 {
            assert_eq!(
                start.call(5).unwrap(),
                5,
                "no place is lost, and who has joined all can start as many"
            );
            if exclusive {
                until_threads(&domain, 1); // which they cannot end while a call has the domain
            }
            assert_eq!(join.call(5).unwrap(), 500 + 5 * round);
            assert_eq!(domain.usage().threads, 1);
        }
        assert!(domain.guest_threads_fault().is_none());
        assert_eq!(domain.bind::<Unary>("add_own").unwrap().call(1).unwrap(), 6, "the domain goes on");
    }
}

/// What such a thread has to clean up lies in frames of which nobody knows how deep they go. Red if that call writes over them: `clean` finds
/// another number.
#[test]
fn a_modules_thread_that_a_handler_ends_in_its_code_ends_the_domain() {
    let _watchdog = watchdog("a module's thread that a handler ends");
    host_sys::end_threads_at(libc::SIGUSR2);
    let (tell, told) = channel();
    // (Threads of modules have the host's signals blocked.)
    let host = HostFunction::new(move |_: &Domain, _: i64| {
        host_sys::unblock(libc::SIGUSR2);
        tell.send(host_sys::thread_number()).unwrap();
    });
    let domain = domain(DomainOptions::new().max_guest_threads(5).gate("host", host));
    let join = domain.bind::<Unary>("join_spinning").unwrap();
    let has_spun = domain.bind::<Nullary>("has_spun").unwrap();
    std::thread::scope(|scope| {
        let joins = scope.spawn(|| join.call(0));
        let thread = told.recv().unwrap();
        while has_spun.call().unwrap() == 0 {
            std::thread::yield_now();
        }
        raise(thread, libc::SIGUSR2);
        let error = joins.join().unwrap().expect_err("it ended");
        assert!(error.to_string().contains("in the middle of the module's code"), "{error}");
    });
}

/// Nobody else tells who waits for such a thread. Red if it is not told of: `pthread_join` waits without end.
#[test]
fn a_modules_thread_that_ends_in_its_clean_up_ends_the_domain() {
    let _watchdog = watchdog("a module's thread that ends in its clean-up");
    let options = DomainOptions::new().max_guest_threads(5).gate("host", host_sys::thread_exit());
    let domain = domain(options);
    let error = domain.bind::<Unary>("join_ended_twice").unwrap().call(0).expect_err("it ended");
    assert!(error.to_string().contains("in the module's clean-up"), "{error}");
}

#[test]
fn a_fork_in_a_host_function_is_refused_in_the_child() {
    let inner = domain(DomainOptions::new());
    let add_own = inner.bind::<Unary>("add_own").unwrap();
    let add = add_own.clone();
    let host = HostFunction::new(move |_: &Domain, n: i64| {
        let refused = host_sys::in_fork(|| matches!(add.call(n), Err(CallError::Forked)));
        assert!(refused, "the child entered");
    });
    let domain = domain(DomainOptions::new().gate("host", host));
    assert_eq!(domain.bind::<Unary>("call_host").unwrap().call(4).unwrap(), 4, "the parent goes on");
    assert_eq!(add_own.call(1).unwrap(), 6);
}

#[test]
fn modules_start_threads_if_the_host_allows_them() {
    let _watchdog = watchdog("threads of a module");
    let allowed = domain(DomainOptions::new().max_guest_threads(8));
    let sum = allowed.bind::<Unary>("sum").unwrap();
    assert_eq!(sum.call(8).unwrap(), 8 * 5 + 28, "each has storage of its own");
    assert_eq!(sum.call(3).unwrap(), 3 * 5 + 3);
    until_threads(&allowed, 1);
    let forbidden = domain(DomainOptions::new());
    assert_eq!(forbidden.bind::<Binary>("start").unwrap().call(0, 1).unwrap(), -i64::from(libc::EAGAIN));
    let error = Domain::new(&MODULE, DomainOptions::new().thread_limit(4).max_guest_threads(4)).err();
    assert!(error.expect("no place for the host").to_string().contains("below the thread limit"));
}

/// Collectors and interpreters ask where the stack of a thread is.
#[test]
fn stacks_are_where_libc_says() {
    let domain = domain(DomainOptions::new().max_guest_threads(1).stack_size(256 << 10));
    for name in ["stack_of_host", "stack_of_thread"] {
        assert_eq!(domain.bind::<Nullary>(name).expect("an export").call().expect(name), 0, "{name}");
    }
    let call = || domain.bind::<Nullary>("stack_of_host").expect("an export").call();
    assert_eq!(std::thread::scope(|scope| scope.spawn(call).join()).expect("no panic").expect("a call"), 0);
}

#[test]
fn threads_of_modules_are_counted() {
    let _watchdog = watchdog("threads of a module");
    let mut domain = domain(DomainOptions::new().max_guest_threads(3));
    let start = domain.bind::<Binary>("start").unwrap();
    assert_eq!(start.call(0, 5).unwrap(), 3);
    assert_eq!(domain.usage().threads, 4);
    while domain.usage().calls != 3 {
        std::thread::yield_now();
    }
    assert_eq!(start.call(0, 1).unwrap(), -i64::from(libc::EAGAIN));
    drop(start);
    assert!(matches!(domain.reset(), Err(ResetError::InUse(_))), "somebody is inside");
    domain.bind::<extern "C" fn()>("let_go").unwrap().call().unwrap();
    until_threads(&domain, 1);
    while domain.reset().is_err() {
        std::thread::yield_now();
    }
    assert_eq!(domain.bind::<Binary>("start").unwrap().call(0, 3).unwrap(), 3, "as new");
}

#[test]
fn who_is_in_a_domain_that_its_own_thread_ends_is_told_how() {
    let _watchdog = watchdog("a call beside a thread that crashes");
    let domain = domain(DomainOptions::new().max_guest_threads(2));
    let error = domain.bind::<extern "C" fn(i64) -> i64>("joins").unwrap().call(2).unwrap_err();
    assert_eq!(error.fault().map(lockgate::Fault::kind), Some(FaultKind::Killed));
    let said = error.to_string();
    assert!(said.contains("a thread that the module had started ended the domain: "), "{said}");
    assert!(said.contains("illegal instruction") && said.contains("crash"), "{said}");
}

/// Red if what the thread did wrong, or who kills and closes the domain, keeps it.
#[test]
fn a_domain_whose_own_thread_crashed_can_be_reset() {
    let _watchdog = watchdog("a domain that is never let go of");
    let mut domain = domain(DomainOptions::new().max_guest_threads(3));
    for _ in 0..50 {
        let start = domain.bind::<Binary>("start").unwrap();
        // (The thread may have crashed before the call that has started it is over.)
        assert!(start.call(2, 1).map_or(true, |started| started == 1));
        while domain.guest_threads_fault().is_none() {
            std::thread::yield_now();
        }
        drop(start);
        while let Err(error) = domain.reset() {
            assert!(matches!(error, ResetError::InUse(_)), "{error}");
            std::thread::yield_now();
        }
        assert!(domain.guest_threads_fault().is_none());
        assert_eq!(domain.bind::<Binary>("start").unwrap().call(0, 3).unwrap(), 3, "as new");
        domain.bind::<extern "C" fn()>("let_go").unwrap().call().unwrap();
        until_threads(&domain, 1);
    }
}

/// Asleep and in a loop.
#[test]
fn a_kill_and_the_end_of_the_handle_end_threads_of_the_module() {
    let _watchdog = watchdog("threads of a killed domain");
    for (body, by_drop) in [(0, false), (1, false), (0, true), (1, true)] {
        let domain = domain(DomainOptions::new().max_guest_threads(3).name(format!("end{body}{by_drop}")));
        let name = format!("lockgate-end{body}{by_drop}");
        assert_eq!(domain.bind::<Binary>("start").unwrap().call(body, 3).unwrap(), 3);
        // A thread names itself when it first runs.
        while threads_named(&name) < 3 {
            std::thread::yield_now();
        }
        if by_drop {
            drop(domain);
        } else {
            domain.kill();
            until_threads(&domain, 1);
        }
        while threads_named(&name) > 0 {
            std::thread::yield_now();
        }
    }
}

/// Where the process has no address space left, a thread starts, or the module hears that it does not.
#[test]
fn threads_start_or_do_not_where_space_runs_out() {
    let _watchdog = watchdog("threads without space");
    // (A child would wait for another test's thread that makes it.)
    LazyLock::force(&MODULE);
    let (mut started, mut refused) = (0, 0);
    for step in 0..60 {
        let child = host_sys::in_child_of(false, || {
            let domain = domain(DomainOptions::new().max_guest_threads(3));
            let sum = domain.bind::<Unary>("sum").unwrap();
            host_sys::limit_address_space(host_sys::address_space() + step * (64 << 10));
            match sum.call(1) {
                Ok(5) => Ok(()),
                Ok(-1) => Err("refused".to_owned()),
                other => panic!("{other:?}"),
            }
        });
        match child {
            Ok(()) => started += 1,
            Err(what) if what == "the child ended with 1" => refused += 1,
            Err(what) => panic!("{step}: {what}"),
        }
    }
    assert!(started > 0 && refused > 0, "{started} started, {refused} refused");
}

/// Bindings outlive the handle; threads do not, nor do others start. Red without `closed` in `Running::new`: the thread would keep the domain for ever.
#[test]
fn no_thread_starts_behind_the_handles_end() {
    let domain = domain(DomainOptions::new().max_guest_threads(3));
    let (start, keeps) = (domain.bind::<Binary>("start").unwrap(), domain.keep());
    drop(domain);
    assert_eq!(start.call(1, 1).expect("it lives"), -i64::from(libc::EAGAIN));
    assert_eq!(keeps.usage().threads, 1);
}

/// Threads of this process with this name, of which the kernel keeps 15 bytes.
fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("/proc is mounted").flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == &name[..name.len().min(15)]).count()
}

#[test]
fn a_fault_of_a_modules_thread_ends_the_domain() {
    let _watchdog = watchdog("a domain whose thread crashes");
    let domain = domain(DomainOptions::new().max_guest_threads(2));
    let start = domain.bind::<Binary>("start").unwrap();
    start.call(1, 1).unwrap();
    // The thread may be quicker than the call that starts it.
    let _ = start.call(2, 1);
    while domain.usage().threads > 1 {
        std::thread::yield_now();
    }
    let refused = start.call(2, 1);
    assert!(matches!(refused, Err(CallError::Killed(_))), "{refused:?}");
}

/// The system call by hand: flags of a process, words outside the domain.
#[test]
fn forged_clones_reach_nothing() {
    let _watchdog = watchdog("a forged clone");
    // Room for all that it starts: on a busy machine none has ended when the last begins.
    let domain = domain(DomainOptions::new().max_guest_threads(8));
    let forge = domain.bind::<extern "C" fn(i64, i64, i64) -> i64>("forge").unwrap();
    let secret = Box::new([u32::MAX; 2]);
    let at = &raw const *secret as i64;
    for flag in [libc::CLONE_THREAD, libc::CLONE_VM, libc::CLONE_PARENT_SETTID, libc::CLONE_CHILD_CLEARTID] {
        assert_eq!(forge.call(flag.into(), 0, 0).unwrap(), -i64::from(libc::ENOSYS), "{flag:#x}");
    }
    let header = domain.base() as i64 + lockgate_abi::header::W as i64;
    for number in [header, domain.base() as i64 + 8] {
        assert_eq!(forge.call(0, number, 0).unwrap(), -i64::from(libc::EFAULT));
    }
    for clear in [0, 1, header, at, i64::MIN] {
        assert_eq!(forge.call(0, 0, clear).unwrap(), 1);
    }
    until_threads(&domain, 1);
    assert_eq!(*secret, [u32::MAX; 2]);
    assert_eq!(domain.bind::<Unary>("sum").unwrap().call(2).unwrap(), 11, "the domain goes on");
}

/// A thread was cancelled while its call was in a domain, and finds out at a point of libc's. Such points are none of the domain's to choose.
/// Red, by the end of the process, if a service of a system call is one: the thread would end in the middle of the library's frames.
#[test]
fn cancelled_threads_find_out_in_no_service_of_a_domains() {
    let _watchdog = watchdog("a thread that was cancelled");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let grants = lockgate::syscall::Grants::default().stdout(writer.into()).expect("a stream");
    let guest = Guest::c("#include <unistd.h>\n long tell(void) { return write(1, \"x\", 1); }");
    let domain = guest.export("long tell(void)").domain_with(DomainOptions::new().grants(grants));
    let tell = domain.bind::<extern "C" fn() -> i64>("tell").expect("an export");
    host_sys::on_plain_thread(move || {
        let ended = host_sys::cancelled(|| tell.call()).expect_err("nobody reads");
        assert!(matches!(ended.fault().map(|fault| fault.kind()), Some(FaultKind::Signal(_))), "{ended}");
    });
}

/// Threads that get in each other's way in one domain's memory services wait for locks, in system calls of the library's. Red in some of a
/// thousand calls if these are seen.
#[test]
fn calls_that_return_leave_errno_alone() {
    const THREADS: usize = 4;
    let _watchdog = watchdog("calls that return leave errno alone");
    let guest = Guest::c(
        "#include <sys/mman.h>
         long maps(long n) { for (long i = 0; i < n; i++) { void *at = mmap(0, 8192, 3, 0x22, -1, 0); munmap(at, 8192); } return n; }",
    );
    let domain = guest.export("long maps(long)").domain();
    let maps = domain.bind::<extern "C" fn(i64) -> i64>("maps").expect("an export");
    let begin = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                begin.wait();
                for _ in 0..2000 {
                    let mut result = None;
                    let errno = host_sys::errno_after(77, || result = maps.call(4).ok());
                    assert_eq!((errno, result), (77, Some(4)));
                }
            });
        }
    });
}
