//! Domains: memory access from the host, threads, resets, pools, whole programs, many at once.
mod common;

use common::Guest;
use lockgate::{AllocError, CallError, Domain, DomainOptions, FaultKind, MemoryError, Module, Pointer, Pool};
use std::sync::Arc;
use std::time::Duration;

const SOURCE: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
static int count;
static char *kept;
int next(void) { return ++count; }
long length(const char *s) { return strlen(s); }
char *keep(const char *s) { free(kept); return kept = strdup(s); }
int has_kept(void) { return kept != 0; }
long big(void) { char *p = malloc(3 << 20); memset(p, 1, 3 << 20); return (long)p; }
int random_word(void) { int n; char where[64]; snprintf(where, sizeof where, "%p", (void *)&n); return where[0]; }
char *variable(const char *name) { return getenv(name); }
void forever(void) { for (;;) ; }
"#;

fn module() -> Arc<Module> {
    Guest::c_with(SOURCE, &["-O1"]).module()
}

fn domain() -> Domain {
    Domain::new(&module(), DomainOptions::new().name("guest").environment("COLOUR", "green")).unwrap()
}

#[test]
fn host_and_domain_share_memory_through_checked_access() {
    let domain = domain();
    let text = domain.alloc_string(c"hello").unwrap();
    let length = domain.bind::<extern "C" fn(Pointer<u8>) -> i64>("length").unwrap();
    assert_eq!(length.call(text).unwrap(), 5);
    let keep = domain.bind::<extern "C" fn(Pointer<u8>) -> Pointer<u8>>("keep").unwrap();
    let kept = keep.call(text).unwrap();
    let string = domain.read_string(kept, 100).unwrap().check(|s| s.to_bytes().is_ascii()).unwrap();
    assert_eq!(string.as_c_str(), c"hello");
    assert!(matches!(domain.read_string(kept, 4), Err(MemoryError::Unterminated { .. })));
    domain.free(text).unwrap();
    let numbers = domain.alloc::<u32>(1000).unwrap();
    domain.write_slice(numbers, &(0..1000).collect::<Vec<u32>>()).unwrap();
    assert_eq!(domain.read(numbers.add(999)).unwrap().check(|n| *n < 1000), Some(999));
    assert_eq!(domain.read(numbers.add(999)).unwrap().check(|n| *n < 999), None);
    assert!(matches!(domain.read_slice(numbers, usize::MAX), Err(MemoryError::Inaccessible { .. })));
    assert!(matches!(domain.alloc::<u8>(1 << 40), Err(AllocError::NoMemory { .. })));
    let variable = domain.bind::<extern "C" fn(Pointer<u8>) -> Pointer<u8>>("variable").unwrap();
    let value = variable.call(domain.alloc_string(c"COLOUR").unwrap()).unwrap();
    assert_eq!(domain.read_string(value, 10).unwrap().trust("compared only").as_c_str(), c"green");
    assert!(variable.call(domain.alloc_string(c"PATH").unwrap()).unwrap().is_null(), "nothing of the host's");
}

/// A string that ends with the last byte of readable memory.
#[test]
fn strings_may_end_at_the_edge_of_memory() {
    let domain = domain();
    let base = domain.base();
    let top = base + lockgate_abi::window::STACKS + lockgate_abi::stack::TOP;
    domain.bind::<extern "C" fn() -> i32>("next").unwrap().call().unwrap();
    let end = Pointer::<u8>::from_address(top - 6);
    domain.write_slice(end, b"hello\0").unwrap();
    assert_eq!(domain.read_string(end, 100).unwrap().trust("compared only").as_c_str(), c"hello");
    domain.write_slice(end, b"hello!").unwrap();
    assert!(matches!(domain.read_string(end, 100), Err(MemoryError::Inaccessible { .. })));
}

#[test]
fn threads_call_at_the_same_time() {
    let domain = domain();
    let length = domain.bind::<extern "C" fn(Pointer<u8>) -> i64>("length").unwrap();
    let keep = domain.bind::<extern "C" fn() -> i64>("big").unwrap();
    let text = domain.alloc_string(c"some text").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    assert_eq!(length.call(text).unwrap(), 9);
                }
                assert_ne!(keep.call().unwrap(), 0, "malloc from many threads");
            });
        }
    });
}

#[test]
fn more_threads_than_slots_are_refused() {
    let domain = domain();
    let next = domain.bind::<extern "C" fn() -> i32>("next").unwrap();
    let barrier = std::sync::Barrier::new(70);
    let refused = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..70 {
            scope.spawn(|| {
                match next.call() {
                    Ok(_) => {}
                    // Each thread's stacks count: the limit may come before the slots are used up.
                    Err(CallError::Threads { .. } | CallError::Memory(_)) => {
                        refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                    Err(other) => panic!("{other}"),
                }
                barrier.wait();
            });
        }
    });
    assert!(refused.into_inner() >= 6);
    next.call().expect("the first thread goes on");
}

/// After a reset, nothing tells that the domain was used before; written pages are compared with a new domain's.
#[test]
fn reset_returns_to_the_pristine_image() {
    let module = module();
    let mut used = Domain::new(&module, DomainOptions::new()).unwrap();
    for _ in 0..3 {
        assert_eq!(used.bind::<extern "C" fn() -> i32>("next").unwrap().call().unwrap(), 1);
        let text = used.alloc_string(c"secret").unwrap();
        used.bind::<extern "C" fn(Pointer<u8>) -> Pointer<u8>>("keep").unwrap().call(text).unwrap();
        used.bind::<extern "C" fn() -> i64>("big").unwrap().call().unwrap();
        let before = used.memory_used();
        used.reset().unwrap();
        assert!(used.memory_used() < before);
        assert_eq!(used.bind::<extern "C" fn() -> i32>("has_kept").unwrap().call().unwrap(), 0);
    }
}

#[test]
fn domains_that_keep_their_pool_go_back_or_are_given_up() {
    type Next = extern "C" fn() -> i32;
    let pool = Arc::new(Pool::new(&module(), DomainOptions::new(), 1));
    let (first, second) = (pool.take_shared().unwrap(), pool.take_shared().unwrap());
    let next = first.bind::<Next>("next").unwrap();
    assert_eq!(next.call().unwrap(), 1);
    let given_up = first.give_back().expect_err("a binding is left");
    assert_eq!((next.call().unwrap(), pool.ready()), (2, 0));
    drop((given_up, next));
    let base = second.base();
    second.give_back().expect("reset");
    // No more than one is kept.
    let third = pool.take_shared().unwrap();
    assert_eq!((third.base(), pool.ready()), (base, 0));
    let kept = pool.take_shared().unwrap();
    kept.give_back().expect("reset");
    third.give_back().expect("reset, and not kept");
    assert_eq!(pool.ready(), 1);
    pool.clear();
    assert_eq!(pool.ready(), 0);
    let last = pool.take_shared().unwrap();
    drop(pool);
    assert_eq!(last.into_domain().bind::<Next>("next").unwrap().call().unwrap(), 1);
}

#[test]
fn pools_hand_out_pristine_domains() {
    let module = module();
    let pool = Pool::new(&module, DomainOptions::new(), 2);
    let mut bases = Vec::new();
    for _ in 0..20 {
        let domain = pool.take().unwrap();
        bases.push(domain.base());
        assert_eq!(domain.bind::<extern "C" fn() -> i32>("next").unwrap().call().unwrap(), 1);
        assert_eq!(domain.bind::<extern "C" fn() -> i32>("has_kept").unwrap().call().unwrap(), 0);
        let text = domain.alloc_string(c"a secret of the last user, long enough to find").unwrap();
        domain.bind::<extern "C" fn(Pointer<u8>) -> Pointer<u8>>("keep").unwrap().call(text).unwrap();
        domain.bind::<extern "C" fn() -> i64>("big").unwrap().call().unwrap();
        domain.bind::<extern "C" fn() -> i32>("random_word").unwrap().call().unwrap();
    }
    bases.dedup();
    assert_eq!(bases.len(), 1, "one domain served them all");
    let last = pool.take().unwrap();
    let image = last.base() + lockgate_abi::window::HEADER;
    for mapping in common::mappings(image, last.base() + lockgate_abi::window::SIZE) {
        if !mapping.rights.starts_with("rw") {
            continue;
        }
        let bytes: Vec<u8> = common::peek(mapping.start, (mapping.end - mapping.start) as usize / 8)
            .unwrap()
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect();
        let secret = b"a secret of the last user";
        assert!(!bytes.windows(secret.len()).any(|w| w == secret), "found in {mapping:x?}");
    }
}

/// Every place of the window and of the control area that the module, or its calls, can have written holds what it held after
/// the start: red if any of them is left out of the reset, the quick one or the long one.
#[test]
fn a_reset_leaves_no_word_behind() {
    let module = module();
    let words = |domain: &Domain| -> Vec<(u64, u64)> {
        let mappings = common::mappings(domain.base(), domain.base() + lockgate_abi::window::STRIDE);
        let writable = mappings.into_iter().filter(|mapping| mapping.rights.starts_with("rw"));
        let mut words = Vec::new();
        for mapping in writable {
            let length = (mapping.end - mapping.start) as usize / 8;
            let values = common::peek(mapping.start, length).unwrap();
            let place = |index: usize| mapping.start + index as u64 * 8 - domain.base();
            words.extend(
                values.iter().enumerate().filter(|(_, word)| **word != 0).map(|(i, word)| (place(i), *word)),
            );
        }
        words
    };
    let use_it = |domain: &Domain| {
        let text = domain.alloc_string(c"a secret of the last user, long enough to find").unwrap();
        domain.bind::<extern "C" fn(Pointer<u8>) -> Pointer<u8>>("keep").unwrap().call(text).unwrap();
        domain.bind::<extern "C" fn() -> i64>("big").unwrap().call().unwrap();
        domain.bind::<extern "C" fn() -> i32>("random_word").unwrap().call().unwrap();
        domain.bind::<extern "C" fn() -> i32>("next").unwrap().call().unwrap();
    };
    // The quick way: word for word, control stack included.
    let pool = Pool::new(&module, DomainOptions::new(), 1);
    drop(pool.take().unwrap());
    let first = pool.take().unwrap();
    let (base, pristine) = (first.base(), words(&first));
    use_it(&first);
    assert_ne!(words(&first), pristine, "the use leaves traces");
    drop(first);
    let second = pool.take().unwrap();
    assert_eq!(second.base(), base, "the same domain");
    assert_eq!(words(&second), pristine);
    // The long way runs the start again, which draws random numbers: as many words, in the same places.
    let mut domain = Domain::new(&module, DomainOptions::new()).unwrap();
    let places = |domain: &Domain| words(domain).into_iter().map(|(place, _)| place).collect::<Vec<_>>();
    let pristine = places(&domain);
    use_it(&domain);
    domain.reset().unwrap();
    assert_eq!(places(&domain), pristine);
}

#[test]
fn a_pool_survives_faults_threads_and_leaks() {
    let module = module();
    let pool = Pool::new(&module, DomainOptions::new().time_limit(Duration::from_millis(50)), 1);
    for round in 0..5 {
        let domain = pool.take().unwrap();
        let forever = domain.bind::<extern "C" fn()>("forever").unwrap();
        assert_eq!(forever.call().unwrap_err().fault().unwrap().kind(), FaultKind::TimeOut, "{round}");
        std::thread::scope(|scope| {
            scope.spawn(|| domain.bind::<extern "C" fn() -> i32>("next").unwrap().call().unwrap());
        });
    }
    let kept = pool.take().unwrap().bind::<extern "C" fn() -> i32>("next").unwrap();
    assert_eq!(pool.ready(), 0, "a domain with a living binding is given up");
    kept.call().expect("but the binding works");
}

#[test]
fn whole_programs_run() {
    let source = r#"
        #include <stdio.h>
        #include <stdlib.h>
        int main(int argc, char **argv) { if (argc == 3) abort(); printf("%s\n", argv[0]); return argc == 2 ? atoi(argv[1]) : 1; }"#;
    let module = Guest::c(source).module();
    let run =
        |arguments: &[&str]| Domain::run(&module, DomainOptions::new().arguments(arguments.iter().copied()));
    assert_eq!(run(&["program", "42"]).unwrap().outcome.unwrap(), 42);
    assert_eq!(run(&["program"]).unwrap().outcome.unwrap(), 1);
    let error = run(&["program", "a", "b"]).unwrap().outcome.unwrap_err().to_string();
    assert!(error.contains("called abort"), "{error}");
}

#[test]
fn options_are_checked() {
    let module = module();
    for (options, expected) in [
        (DomainOptions::new().stack_size(4097), "stack size 4097"),
        (DomainOptions::new().stack_size(0), "stack size 0"),
        (DomainOptions::new().stack_size(1 << 30), "stack size"),
        (DomainOptions::new().memory_limit(4096), "the memory limit is 4096"),
        (DomainOptions::new().time_limit(Duration::ZERO), "below one millisecond"),
        (DomainOptions::new().environment("A", "b\0c"), "zero byte"),
    ] {
        let error = Domain::new(&module, options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_is_no_module_is_refused() {
    for bytes in [&b""[..], b"\x7fELF", &[0; 4096], b"#!/bin/sh\n"] {
        let error = Module::from_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains("is not a module"), "{error}");
    }
    let error = Module::open("/no/such/file").unwrap_err().to_string();
    assert!(error.contains("cannot read /no/such/file"), "{error}");
}

/// 5,000 domains at once, each called, within the kernel's default limit of 65,530 mappings.
#[test]
fn five_thousand_domains_live_at_once() {
    let module = module();
    let domains: Vec<_> = (0..5000)
        .map(|number| {
            let domain =
                Domain::new(&module, DomainOptions::new()).unwrap_or_else(|e| panic!("{number}: {e}"));
            assert_eq!(domain.bind::<extern "C" fn() -> i32>("next").unwrap().call().unwrap(), 1);
            domain
        })
        .collect();
    assert!(common::mappings(0, u64::MAX).len() < 10 * domains.len() + 1000);
}

/// A process without address space gets an error that says so, and goes on.
#[test]
fn no_address_space_is_an_error() {
    let output = common::in_child("child_runs_out_of_address_space");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("no address space or kernel mappings left"), "{output:?}");
    assert!(text.contains("still alive"), "{output:?}");
}

#[test]
#[ignore = "run by no_address_space_is_an_error"]
fn child_runs_out_of_address_space() {
    let module = module();
    common::host_sys::limit_address_space(4 << 30);
    println!("{}", Domain::new(&module, DomainOptions::new()).unwrap_err());
    common::host_sys::limit_address_space(u64::MAX);
    Domain::new(&module, DomainOptions::new()).unwrap();
    println!("still alive");
}

/// Calls in a forked child are refused: the watcher and other threads are gone there.
#[test]
fn forked_children_are_refused() {
    let domain = domain();
    let next = domain.bind::<extern "C" fn() -> i32>("next").unwrap();
    next.call().unwrap();
    let refused = common::host_sys::in_fork(|| matches!(next.call(), Err(CallError::Forked)));
    assert!(refused, "the child entered");
    assert_eq!(next.call().unwrap(), 2);
}
