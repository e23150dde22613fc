//! What an idle domain costs, and more domains than the kernel has mappings for if all had stacks.

use crate::common::{Guest, host_sys, in_child};
use lockgate::{Domain, DomainOptions, HostFunction, Module, Pointer, Pool};
use lockgate_abi::window;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

const SOURCE: &str = r#"
#include <stdlib.h>
static _Thread_local int calls;
int next(void) { return ++calls; }
const char *variable(const char *name) { return getenv(name); }
int through(int (*host)(int), int n) { volatile int local = n; return host(n) + local; }
"#;

fn module() -> Arc<Module> {
    Guest::c(SOURCE).module()
}

fn number_of(domain: &Domain) -> i32 {
    domain.bind::<extern "C" fn() -> i32>("next").unwrap().call().unwrap()
}

/// A process of its own: it takes all kernel mappings there are.
#[test]
fn idle_domains_rest_when_mappings_run_out() {
    let output = in_child("idle::child_with_ten_thousand_domains");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("all is well"), "{output:?}");
}

/// Red without `with_room` at any of its places; and, for what domains keep, without the copy of the storage.
#[test]
#[ignore = "run by idle_domains_rest_when_mappings_run_out"]
fn child_with_ten_thousand_domains() {
    if host_sys::most_mappings() > 100_000 {
        support::skipped(
            "idle_domains_rest_when_mappings_run_out",
            "this kernel has mappings for more domains than there is address space",
        );
        return;
    }
    let module = module();
    let options = |n: usize| DomainOptions::new().environment("NUMBER", n.to_string());
    // One whose thread has ended, one that is reset later, one of a pool, and one with a thread of its own inside.
    let ended = Domain::new(&module, options(1)).unwrap();
    assert_eq!(number_of(&ended), 1);
    let orphan = std::thread::scope(|scope| {
        let make = || {
            let domain = Domain::new(&module, options(2)).unwrap();
            number_of(&domain);
            domain
        };
        scope.spawn(make).join().unwrap()
    });
    let mut reset = Domain::new(&module, options(3)).unwrap();
    number_of(&reset);
    let pool = Pool::new(&module, options(4), 1);
    let pooled = pool.take().unwrap();
    number_of(&pooled);

    let domains = Arc::new(Mutex::new(Vec::new()));
    let make_many = {
        let (domains, module) = (domains.clone(), module.clone());
        move |many: usize| {
            let mut domains = domains.lock().unwrap();
            while domains.len() < many {
                let number = domains.len();
                let domain =
                    Domain::new(&module, options(number)).unwrap_or_else(|e| panic!("{number}: {e}"));
                assert_eq!(number_of(&domain), 1);
                domains.push(domain);
            }
        }
    };
    // Most of them are made inside a call: its domain must not lose its stack meanwhile, as others of its age do.
    make_many(4000);
    let caller = Domain::new(&module, options(5)).unwrap();
    let inside = move |_: &Domain, n: i32| {
        make_many(10_000);
        n + 1
    };
    let callback = caller.callback(HostFunction::new(inside)).unwrap();
    let through = caller.bind::<extern "C" fn(Pointer<u8>, i32) -> i32>("through").unwrap();
    assert_eq!(through.call(callback.pointer(), 20).unwrap(), 41);

    let domains = std::mem::take(&mut *domains.lock().unwrap());
    let rest = resting(&domains);
    assert!(rest.len() > 5000 && rest.contains(&3999) && rest.contains(&4000), "{} domains rest", rest.len());
    // Every one of them is as it was: thread-local storage, environment, what the host reads.
    for (number, domain) in domains.iter().enumerate() {
        assert_eq!(number_of(domain), 2, "{number}");
    }
    // The host reads and writes what lies on a stack that rests.
    let noted: Vec<_> =
        domains.iter().enumerate().step_by(500).map(|(n, domain)| (n, domain, note(domain))).collect();
    for domain in &domains {
        number_of(domain);
    }
    let rested = resting(&domains);
    let noted: Vec<_> = noted.into_iter().filter(|(number, _, _)| rested.contains(number)).collect();
    assert!(noted.len() > 2, "{} of the noted domains rest", noted.len());
    for (number, domain, value) in noted {
        if number % 1000 == 0 {
            let read = domain.read_string(value, 20).unwrap().trust("compared only");
            assert_eq!(read.to_str().unwrap(), number.to_string());
        } else {
            domain.write_slice(value, b"x").expect("the host writes to a stack that rested");
            assert_eq!(domain.read(value).unwrap().trust("compared only"), b'x');
        }
        assert_eq!(number_of(domain), 4);
    }
    assert_eq!(number_of(&ended), 2);
    assert_eq!(number_of(&orphan), 1, "the first storage is as a new thread's for the next one");
    reset.reset().unwrap();
    assert_eq!(number_of(&reset), 1);
    drop(pooled);
    assert_eq!(number_of(&pool.take().unwrap()), 1);
    // Another thread in one that rests, then ours again.
    let last = &domains[*resting(&domains).last().expect("some rest")];
    std::thread::scope(|scope| assert_eq!(scope.spawn(|| number_of(last)).join().unwrap(), 1));
    assert_eq!(number_of(last), 4);
    drop(domains);
    println!("all is well");
}

/// A process of its own: it has no memory left for a while.
#[test]
fn a_domain_does_not_rest_while_its_code_is_interrupted() {
    let output = in_child("idle::child_that_interrupts_a_domain");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("all is well"), "{output:?}");
}

/// A handler of the host's interrupts a domain's code and asks for another domain, where there is no room. Red if the first one gives its stacks back:
/// what its code goes on with is gone.
#[test]
#[ignore = "run by a_domain_does_not_rest_while_its_code_is_interrupted"]
fn child_that_interrupts_a_domain() {
    static REFUSED: AtomicUsize = AtomicUsize::new(0);
    static DOMAIN: OnceLock<(Arc<Module>, Domain, Pointer<i32>)> = OnceLock::new();
    fn work() {
        let Some((module, domain, flags)) = DOMAIN.get() else { return };
        let limit = getrlimit(Resource::Data);
        setrlimit(Resource::Data, Rlimit { current: Some(4096), ..limit }).expect("it is lower");
        let made = Domain::new(module, DomainOptions::new());
        setrlimit(Resource::Data, limit).expect("as it was");
        REFUSED.fetch_add(usize::from(made.is_err()), Ordering::SeqCst);
        domain.write(flags.add(1), 1).expect("the module's variable");
    }
    let module = Guest::c(
        "static volatile int is[2]; /* inside, and free to go on */
         int *flags(void) { return (int *)is; }
         long stays(void) { volatile long account = 42; is[0] = 1; while (!is[1]) ; return account; }",
    )
    .module();
    let domain = Domain::new(&module, DomainOptions::new()).expect("a domain");
    let flags = domain.bind::<extern "C" fn() -> Pointer<i32>>("flags").unwrap().call().unwrap();
    let stays = domain.bind::<extern "C" fn() -> i64>("stays").unwrap();
    host_sys::raise_with(libc::SIGUSR2, work);
    assert!(DOMAIN.set((module, domain, flags)).is_ok());
    let number = host_sys::thread_number();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (_, domain, flags) = DOMAIN.get().expect("set");
            while domain.read(*flags).expect("the module's variable").trust("a flag") == 0 {
                std::thread::yield_now();
            }
            crate::handlers_sys::raise(number, libc::SIGUSR2);
        });
        assert_eq!(stays.call().expect("the call goes on"), 42);
    });
    assert_eq!(REFUSED.load(Ordering::SeqCst), 1, "there was room");
    println!("all is well");
}

/// Which of the domains have no stacks, by one look at all mappings.
fn resting(domains: &[Domain]) -> Vec<usize> {
    let accessible =
        crate::common::mappings(0, u64::MAX).into_iter().filter(crate::common::Mapping::accessible);
    let standing: HashSet<u64> = accessible
        .filter(|m| m.start % window::STRIDE >= window::STACKS && m.start % window::STRIDE < window::SIZE)
        .map(|m| m.start / window::STRIDE)
        .collect();
    let rests = |domain: &Domain| !standing.contains(&(domain.base() / window::STRIDE));
    domains.iter().enumerate().filter(|(_, domain)| rests(domain)).map(|(number, _)| number).collect()
}

/// Where the domain's environment, on the first thread's stack, has its number.
fn note(domain: &Domain) -> Pointer<u8> {
    let name = domain.alloc_string(c"NUMBER").unwrap();
    let variable = domain.bind::<extern "C" fn(Pointer<u8>) -> Pointer<u8>>("variable").unwrap();
    variable.call(name).unwrap()
}
