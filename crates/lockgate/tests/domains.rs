//! Domains: memory access from the host, threads, resets, pools, whole programs, many at once.

use crate::common::{Guest, detail};
use lockgate::syscall::{Access, Grants};
use lockgate::{
    AllocError, Allow, CallError, CreateError, Domain, DomainOptions, Export, FaultKind, HostFunction,
    MemoryError, Module, OnFailure, Pointer, Policy, Pool, Principal, Region, Registry, Request, ResetError,
    Rights, Version,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The magic number of a file system in memory (linux/magic.h).
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

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
long deep(long n) { volatile char frame[1000]; frame[0] = 1; return n ? deep(n - 1) + frame[0] : frame[0]; }
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

/// Others have the domain from when its constructors run, and can end them.
#[test]
fn a_domain_can_be_killed_while_it_is_reset() {
    let mut domain = domain();
    let mut kept = None;
    domain.reset_with(|starting| kept = Some(starting)).unwrap();
    assert!(matches!(domain.reset(), Err(ResetError::InUse(_))), "as long as that is kept");
    assert_eq!(kept.expect("before the constructors").base(), domain.base());
    let done = domain.reset_with(|starting| starting.kill());
    assert!(matches!(done, Err(ResetError::Create(CreateError::Start { .. }))), "{done:?}");
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
    for mapping in crate::common::mappings(image, last.base() + lockgate_abi::window::SIZE) {
        if !mapping.rights.starts_with("rw") {
            continue;
        }
        let bytes: Vec<u8> = crate::common::peek(mapping.start, (mapping.end - mapping.start) as usize / 8)
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
        let mappings = crate::common::mappings(domain.base(), domain.base() + lockgate_abi::window::STRIDE);
        let writable = mappings.into_iter().filter(|mapping| mapping.rights.starts_with("rw"));
        let mut words = Vec::new();
        for mapping in writable {
            let length = (mapping.end - mapping.start) as usize / 8;
            let values = crate::common::peek(mapping.start, length).unwrap();
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
        // Deep on both stacks.
        assert_eq!(domain.bind::<extern "C" fn(i64) -> i64>("deep").unwrap().call(300).unwrap(), 301);
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

/// A start that makes constants and reserves memory, and a user that changes either and gives them their rights back.
const CONSTANTS: &str = r#"
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
static char *constant, *reserved;
__attribute__((constructor)) static void start(void) {
    constant = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(constant, "constant");
    mprotect(constant, 65536, PROT_READ);
    reserved = mmap(0, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void write_there(char *at, int rights) {
    mprotect(at, 65536, PROT_READ | PROT_WRITE);
    strcpy(at, "secret");
    strcpy(at + 8192, "secret");
    mprotect(at, 65536, rights);
}
static void map_there(char *at, int rights) { mmap(at, 65536, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); }
long use(long how) {
    switch (how) {
    case 0: write_there(constant, PROT_READ); break;
    case 1: write_there(reserved, PROT_NONE); break;
    case 2: map_there(constant, PROT_READ); break;
    case 3: madvise(constant, 65536, MADV_DONTNEED); break;
    case 4: munmap(constant, 65536); map_there(constant, PROT_READ); break;
    case 5: munmap(reserved, 65536); map_there(reserved, PROT_READ | PROT_WRITE); strcpy(reserved, "secret"); mprotect(reserved, 65536, PROT_NONE);
    }
    return 0;
}
long is_new(void) {
    int fine = !strcmp(constant, "constant") && !constant[8192];
    mprotect(reserved, 65536, PROT_READ);
    return fine && !reserved[0] && !reserved[8192];
}
"#;

/// Red if a reset takes what the module cannot write for what it has not written.
#[test]
fn what_the_start_has_made_constant_is_as_it_was() {
    let module = Guest::c_with(CONSTANTS, &["-O1"]).module();
    let pool = Pool::new(&module, DomainOptions::new(), 1);
    for how in 0..6 {
        let domain = pool.take().unwrap();
        assert_eq!(domain.bind::<extern "C" fn(i64) -> i64>("use").unwrap().call(how).unwrap(), 0);
        drop(domain);
        assert_eq!(pool.ready(), 1, "{how}");
        let domain = pool.take().unwrap();
        assert_eq!(domain.bind::<extern "C" fn() -> i64>("is_new").unwrap().call().unwrap(), 1, "{how}");
    }
}

/// What a domain's user has linked is no import of the next one's, however it was linked, and however the domain is reset; what the domain was
/// made with is. Red if the tables of gates outlive their user.
#[test]
fn what_the_last_user_has_linked_is_gone() {
    let client = Guest::c(
        "long ask(long); long host(long); long use(long x) { return ask(x); } long use_host(long x) { return host(x); }",
    );
    let client = client.gate("long ask(long)").gate("long host(long)").module();
    let server = Guest::c("long ask(long x) { return x + 4711; }").module();
    let mine: HostFunction = HostFunction::new(|_: &Domain, x: i64| x + 1);
    let options = || DomainOptions::new().gate("host", mine.clone());
    let call = |domain: &Domain, name: &str| domain.bind::<extern "C" fn(i64) -> i64>(name).unwrap().call(1);
    let link = |domain: &Domain| {
        let server = Domain::new(&server, DomainOptions::new()).unwrap();
        domain.link("ask", &server, "long ask(long)", Policy::INTEGRITY, OnFailure::Return(7)).unwrap();
        domain.link("host", &server, "long ask(long)", Policy::INTEGRITY, OnFailure::Return(7)).unwrap();
        assert_eq!(call(domain, "use").unwrap(), 4712);
        assert_eq!(call(domain, "use_host").unwrap(), 4712);
    };
    let is_new = |domain: &Domain| {
        call(domain, "use").expect_err("nobody has linked it");
        assert_eq!(call(domain, "use_host").unwrap(), 2);
    };
    let pool = Pool::new(&client, options(), 1);
    let first = pool.take().unwrap();
    link(&first);
    drop(first);
    assert_eq!(pool.ready(), 1);
    is_new(&pool.take().unwrap());
    let mut domain = Domain::new(&client, options()).unwrap();
    link(&domain);
    domain.reset().unwrap();
    is_new(&domain);
}

/// What a function of the host's gives the domain while that starts comes with each start: a pool's second user has it as the first one had. Red
/// if a quick reset takes it away, and nothing gives it once more.
#[test]
fn what_the_start_is_given_is_there_for_each_user() {
    let client = "long *memory(void); void link(void); long ask(long);
        static long *shared;
        __attribute__((constructor)) static void start(void) { shared = memory(); link(); }
        long look(void) { return shared ? *shared : -1; }
        long use(long x) { return ask(x); }";
    let client = Guest::c(client).gate("long *memory(void)").gate("void link(void)").gate("long ask(long)");
    let client = client.module();
    let server = Guest::c("long ask(long x) { return x + 4711; }").domain();
    let region = Region::new(4096).unwrap();
    region.slice::<i64>(0, 1).unwrap().write(0, &[42]).unwrap();
    for (gives, links) in [(true, true), (true, false), (false, true)] {
        let region = region.clone();
        let grants = Mutex::new(Vec::new());
        let memory = HostFunction::new(move |caller: &Domain| -> Pointer<i64> {
            if !gives {
                return Pointer::from_address(0);
            }
            let grant = caller.grant(&region, Rights::Read).unwrap();
            let at = grant.pointer(0).unwrap();
            grants.lock().unwrap().push(grant);
            at
        });
        let served = server.keep();
        let link = HostFunction::new(move |caller: &Domain| {
            if links {
                let linked =
                    caller.link("ask", &served, "long ask(long)", Policy::default(), OnFailure::Propagate);
                linked.unwrap();
            }
        });
        let pool = Pool::new(&client, DomainOptions::new().gate("memory", memory).gate("link", link), 1);
        for user in 0..3 {
            let domain = pool.take().unwrap();
            let look = domain.bind::<extern "C" fn() -> i64>("look").unwrap().call().unwrap();
            assert_eq!(look, if gives { 42 } else { -1 }, "user {user}");
            let asked = domain.bind::<extern "C" fn(i64) -> i64>("use").unwrap().call(1);
            assert_eq!(asked.ok(), links.then_some(4712), "user {user}");
            drop(domain);
            assert_eq!(pool.ready(), 1);
        }
    }
}

/// A domain that a registry has ended is reset as any: its imports are what it was made with. Red if its tables stay closed.
#[test]
fn a_reset_opens_what_a_registry_has_closed() {
    let source = "long ask(long); long use(long x) { return ask(x); }
        __attribute__((constructor)) static void start(void) { ask(0); }";
    let module = Guest::c(source).gate("long ask(long)").module();
    let options = || DomainOptions::new().gate("ask", HostFunction::new(|_: &Domain, x: i64| x + 1));
    let registry = Registry::new();
    let export = || Export::new("use", Version::new(1, 0)).of("long use(long)");
    let call = |domain: &Domain| domain.bind::<extern "C" fn(i64) -> i64>("use").unwrap().call(1);
    let mut domain = Domain::new(&module, options().name("own")).unwrap();
    let pool = Pool::new(&module, options().name("pooled"), 1);
    for restarts in [false, true] {
        let end = |name: &str| match restarts {
            false => registry.remove(name).unwrap(),
            true => registry.restart(name).map(|_| registry.remove(name).unwrap()).unwrap(),
        };
        registry.export(&domain, export()).unwrap();
        end("own");
        call(&domain).expect_err("it has ended");
        assert!(lockgate::until_reclaimed(Duration::from_secs(60)));
        domain.reset().unwrap();
        assert_eq!(call(&domain).unwrap(), 2);
        let pooled = pool.take().unwrap();
        registry.export(&pooled, export()).unwrap();
        end("pooled");
        assert!(lockgate::until_reclaimed(Duration::from_secs(60)));
        drop(pooled);
        assert_eq!(pool.ready(), 1);
        assert_eq!(call(&pool.take().unwrap()).unwrap(), 2);
    }
}

/// A start that fails ends the domain, also where something keeps it: threads that it has begun, a name that the host has exported for it.
/// Red if what nobody has goes on.
#[test]
fn a_domain_that_cannot_start_has_ended() {
    let _watchdog = crate::common::watchdog("threads of a domain that nobody has");
    let source = "#include <pthread.h>
        #include <stdlib.h>
        long tell(long);
        static void *run(void *unused) { for (;;) tell(1); return unused; }
        long double_of(long x) { return 2 * x; }
        __attribute__((constructor)) static void start(void) { pthread_t thread; pthread_create(&thread, 0, run, 0); tell(0); abort(); }";
    let module = Guest::c(source).gate("long tell(long)").module();
    let registry = Registry::new();
    // What its functions of the host's have goes with the domain.
    let kept = Arc::new(());
    let (exporting, own, told) = (registry.clone(), kept.clone(), AtomicUsize::new(0));
    let tell = HostFunction::new(move |caller: &Domain, which: i64| -> i64 {
        let _own = &own;
        if which == 1 {
            told.fetch_add(1, Ordering::SeqCst);
            return 0;
        }
        let export = Export::new("double_of", Version::new(1, 0)).of("long double_of(long)");
        exporting.export(caller, export.allow(Allow::Everyone)).unwrap();
        while told.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        0
    });
    let options = DomainOptions::new().name("failing").max_guest_threads(4).gate("tell", tell);
    let made = Domain::new(&module, options);
    assert!(matches!(made, Err(CreateError::Start { .. })));
    let bound =
        registry.bind::<extern "C" fn(i64) -> i64>(&Principal::nobody(), &Request::newest("double_of"));
    assert!(matches!(bound.unwrap().call(2), Err(CallError::Killed(_))));
    registry.unexport("double_of").unwrap();
    while Arc::strong_count(&kept) > 1 {
        std::thread::yield_now();
    }
}

/// The thread in a pool's domain ends while that is ready: the next user's finds what the start has made, in the same storage. Red if the mask,
/// and what else is a thread's, is what a new thread has.
#[test]
fn a_thread_that_ends_takes_nothing_of_the_start_with_it() {
    let source = "#include <signal.h>
        __attribute__((constructor)) static void start(void) { sigset_t set; sigemptyset(&set), sigaddset(&set, SIGUSR1); sigprocmask(SIG_BLOCK, &set, 0); }
        long is_blocked(void) { sigset_t now; sigprocmask(SIG_BLOCK, 0, &now); return sigismember(&now, SIGUSR1); }";
    let pool = Pool::new(&Guest::c(source).module(), DomainOptions::new(), 1);
    let is_blocked =
        || pool.take().unwrap().bind::<extern "C" fn() -> i64>("is_blocked").unwrap().call().unwrap();
    assert_eq!(std::thread::scope(|scope| scope.spawn(is_blocked).join().unwrap()), 1);
    assert_eq!(pool.ready(), 1);
    assert_eq!([is_blocked(), is_blocked()], [1, 1]);
}

/// A domain's user that leaves behind what a module can, and tells what it finds.
const TENANT: &str = r#"
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#define SIZE 65536
static char *heap; /* from the start, as an allocator's */
static _Thread_local int mine;
static int everybodys;
static void (*called)(void);
__attribute__((constructor)) static void init(void) {
    heap = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    heap[0] = 1;
}
static ucontext_t here, there;
static char stack[SIZE];
static void wander(void) { swapcontext(&there, &here); }
/* Descriptors of each kind, watched by a set, with something in each. */
static int leave_descriptors(void) {
    int ends[2], pair[2], set = epoll_create1(0), event = eventfd(3, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec in_an_hour = {.it_value = {.tv_sec = 3600}};
    struct epoll_event watch = {.events = EPOLLIN};
    if (set < 0 || event < 0 || timer < 0 || pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 1;
    if (write(ends[1], "left", 4) != 4 || send(pair[0], "left", 4, 0) != 4) return 2;
    if (timerfd_settime(timer, 0, &in_an_hour, 0)) return 3;
    int all[] = {event, timer, ends[0], pair[1]};
    for (int i = 0; i < 4; i++) if (epoll_ctl(set, EPOLL_CTL_ADD, all[i], &watch)) return 4;
    int tcp = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in granted = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, refused = granted;
    refused.sin_port = htons(1);
    if (tcp < 0 || setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on)) return 5;
    if (bind(tcp, (void *)&granted, sizeof granted) || listen(tcp, 1)) return 6;
    return connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&refused, sizeof refused) != -1 || errno != EACCES ? 7 : 0;
}
/* Signals that wait, timers that run, a list of robust locks, a context that is suspended. */
static int leave_signals(void) {
    timer_t timer;
    struct sigevent tell = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    struct itimerspec in_an_hour = {.it_value = {.tv_sec = 3600}};
    struct itimerval often = {.it_value = {.tv_sec = 3600}};
    if (raise(SIGUSR1) || sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 7})) return 1;
    if (timer_create(CLOCK_MONOTONIC, &tell, &timer) || timer_settime(timer, 0, &in_an_hour, 0)) return 2;
    if (setitimer(ITIMER_REAL, &often, 0)) return 3;
    static struct { void *next; long offset; void *pending; } robust = {&robust, 0, 0};
    if (syscall(SYS_set_robust_list, &robust, sizeof robust)) return 4;
    getcontext(&there);
    there.uc_stack.ss_sp = stack, there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, wander, 0);
    return swapcontext(&here, &there) ? 5 : 0;
}
/* Leaves something in everything that a domain has; `how` says what becomes of the heap. 0 if all could be done. */
int leave(int how, void (*callback)(void)) {
    int fd = open("/data/f", O_RDWR | O_CREAT | O_APPEND, 0600), other = open("/data/f", O_RDONLY);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0 || other < 0 || ftruncate(fd, SIZE) || lseek(other, 7, SEEK_SET) != 7) return 1;
    if (fcntl(fd, F_SETLK, &lock) || flock(other, LOCK_SH)) return 2;
    if (fcntl(1, F_SETFL, O_NONBLOCK | O_APPEND) || fcntl(fd, F_SETFD, FD_CLOEXEC)) return 3;
    if (chdir("/data/d") || umask(0777) != 022) return 4;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t all;
    sigfillset(&all);
    if (sigaction(SIGPIPE, &ignore, 0) || sigprocmask(SIG_BLOCK, &all, 0)) return 5;
    int failed = leave_descriptors();
    if (failed) return 100 + failed;
    failed = leave_signals();
    if (failed) return 200 + failed;
    if (!malloc(2 << 20) || mmap(0, SIZE, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED) return 6;
    mine = everybodys = errno = 1;
    called = callback;
    called();
    for (int i = 0; i < 50; i++) sysconf(0), syscall(999);
    int flags = how == 1 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, from = how == 1 ? fd : -1;
    if (how && mmap(heap, SIZE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, from, 0) != heap) return 7;
    if (how == 3 && (munmap(heap, SIZE) || mmap(heap, SIZE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != heap)) return 8;
    if (how != 3) memcpy(heap + 8192, "left behind", 12);
    memset(alloca(9000), 0x5a, 9000);
    return 0;
}
static uint64_t found[1024];
static int count;
static void add(uint64_t value) { found[count++] = value; }
/* Everything that a user can find out. */
uint64_t *find(void) {
    char path[256];
    uint64_t sum = 0;
    for (int i = 0; i < 256; i++) add(fcntl(i, F_GETFD)), add(fcntl(i, F_GETFL)), add(errno);
    add(lseek(3, 0, SEEK_CUR));
    add(getcwd(path, sizeof path) ? path[strlen(path) - 1] : 0);
    mode_t mask = umask(0);
    add(umask(mask)), add(mask);
    for (int i = 1; i < 65; i++) {
        struct sigaction old = {.sa_handler = SIG_DFL};
        add(sigaction(i, 0, &old)), add((uintptr_t)old.sa_handler);
    }
    sigset_t blocked;
    add(sigprocmask(SIG_BLOCK, 0, &blocked)), add(*(uint64_t *)&blocked);
    add(sigpending(&blocked)), add(*(uint64_t *)&blocked);
    struct itimerval often;
    add(getitimer(ITIMER_REAL, &often)), add(often.it_value.tv_sec);
    for (int i = 0; i < 40; i++) {
        struct itimerspec left;
        add(syscall(SYS_timer_gettime, i, &left)), add(syscall(SYS_timer_getoverrun, i));
    }
    struct rlimit limit;
    for (int i = 0; i < 16; i++) add(getrlimit(i, &limit)), add(limit.rlim_cur), add(limit.rlim_max);
    struct sysinfo info;
    add(sysinfo(&info)), add(info.totalram), add(info.freeram), add((uint32_t)(uintptr_t)sbrk(0));
    for (int i = 0; i < SIZE; i++) sum = (sum ^ heap[i]) * 0x100000001b3;
    add(sum);
    add(mine), add(everybodys), add(called != 0);
    int fd = open("/data/f", O_RDWR | O_CREAT, 0600);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    add(fd), add(fcntl(fd, F_GETLK, &lock)), add(lock.l_type), add(flock(fd, LOCK_EX | LOCK_NB));
    add(mprotect(heap, SIZE, PROT_READ | PROT_WRITE));
    heap[16384] = 77;
    return found;
}
"#;

/// Whatever the last user left in a domain, by whatever way it is reset, the next one finds what a new domain has.
#[test]
fn a_reset_means_nothing_of_the_last_user() {
    type Leave = extern "C" fn(i32, Pointer<u8>) -> i32;
    let host = tempfile::tempdir().unwrap();
    std::fs::create_dir(host.path().join("d")).unwrap();
    let (_reader, writer) = std::io::pipe().unwrap();
    let grants = Grants::default()
        .directory("/data", host.path(), Access::ReadWrite)
        .and_then(|grants| grants.stdout(writer.into())?.listen("127.0.0.1:0"))
        .unwrap();
    let options = DomainOptions::new().grants(grants).measure_cpu_time();
    let module = Guest::c_with(TENANT, &["-O1"]).module();
    let find = |domain: &Domain| {
        let found = domain.bind::<extern "C" fn() -> Pointer<u64>>("find").unwrap().call().unwrap();
        domain.read_slice(found, 1024).unwrap().trust("compared only")
    };
    let leave = |domain: &Domain, how| {
        let callback = domain.callback(lockgate::HostFunction::new(|_: &Domain| ())).unwrap();
        let left = domain.bind::<Leave>("leave").unwrap().call(how, callback.pointer()).unwrap();
        assert_eq!(left, 0, "errors of the test's module are its line");
        assert_ne!(domain.denied(), []);
    };
    let new = |options: &DomainOptions| Domain::new(&module, options.clone()).unwrap();
    let file = host.path().join("f");
    let expected = find(&new(&options));
    let fresh = new(&options);
    let (usage, refused) = (fresh.usage(), fresh.refused_syscalls());
    drop(fresh);
    // Without a pool: the long way.
    let mut own = new(&options);
    for how in 0..4 {
        leave(&own, how);
        own.reset().unwrap();
        let now = own.usage();
        assert_eq!((now.memory, now.peak_memory), (usage.memory, usage.peak_memory), "{how}");
        assert_eq!(
            (now.descriptors, now.threads, now.calls),
            (usage.descriptors, usage.threads, usage.calls)
        );
        assert_eq!((own.refused_syscalls(), own.denied()), (refused.clone(), Vec::new()));
        assert_eq!(find(&own), expected, "{how}");
        own.reset().unwrap();
    }
    let pool = Pool::new(&module, options, 1);
    let base = pool.take().unwrap().base();
    for how in 0..4 {
        let domain = pool.take().unwrap();
        leave(&domain, how);
        drop(domain);
        let domain = pool.take().unwrap();
        assert_eq!((domain.base(), pool.ready()), (base, 0), "the same domain");
        assert_eq!((domain.refused_syscalls(), domain.denied()), (refused.clone(), Vec::new()));
        assert_eq!(domain.usage().descriptors, usage.descriptors);
        let before = std::fs::read(&file).unwrap();
        assert_eq!(find(&domain), expected, "{how}");
        assert_eq!(std::fs::read(&file).unwrap(), before, "nobody's memory is another's file");
    }
}

#[test]
fn a_pool_survives_faults_threads_and_leaks() {
    let module = module();
    let pool = Pool::new(&module, DomainOptions::new().time_limit(Duration::from_millis(250)), 1);
    for round in 0..5 {
        let domain = pool.take().unwrap();
        let forever = domain.bind::<extern "C" fn()>("forever").unwrap();
        assert_eq!(forever.call().unwrap_err().fault().unwrap().kind(), FaultKind::TimeOut, "{round}");
        std::thread::scope(|scope| {
            let next = domain.bind::<extern "C" fn() -> i32>("next").unwrap();
            scope.spawn(move || crate::common::in_time(|| next.call()).unwrap());
        });
    }
    let kept = pool.take().unwrap().bind::<extern "C" fn() -> i32>("next").unwrap();
    assert_eq!(pool.ready(), 0, "a domain with a living binding is given up");
    crate::common::in_time(|| kept.call()).expect("but the binding works");
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

/// A program ends with any of its threads. What is told is what went wrong first, not that the others ended for it.
#[test]
fn a_threaded_programs_fault_is_told() {
    let source = r#"
        #include <pthread.h>
        #include <stdlib.h>
        #include <unistd.h>
        static void *wait(void *x) { for (;;) usleep(1000); }
        static void *fault(void *x) { *(volatile int *)8 = 1; return 0; }
        static void *leave(void *x) { exit(7); }
        int main(int argc, char **argv) {
            pthread_t thread;
            pthread_create(&thread, 0, argc == 1 ? wait : argc == 2 ? fault : leave, 0);
            if (argc == 1) *(volatile int *)8 = 1;
            for (;;) usleep(1000);
        }"#;
    let module = Guest::c(source).module();
    let run = |arguments: &[&str]| {
        let options = DomainOptions::new()
            .max_guest_threads(4)
            .time_limit(Duration::from_secs(60))
            .arguments(arguments.iter().copied());
        Domain::run(&module, options).unwrap().outcome
    };
    for arguments in [&["program"][..], &["program", "thread"]] {
        let error = run(arguments).unwrap_err();
        assert_eq!(error.fault().unwrap().kind(), FaultKind::Segv, "{arguments:?}: {error}");
    }
    assert_eq!(run(&["program", "leave", "it"]).unwrap(), 7);
}

/// Signals of a program's own end it as they end a process: by what it has not said otherwise about.
#[test]
fn programs_end_by_their_own_signals() {
    let source = r#"
        #include <signal.h>
        #include <stdlib.h>
        #include <unistd.h>
        static volatile int got;
        static void handler(int signal) { got = signal; }
        int main(int argc, char **argv) {
            signal(SIGUSR1, handler);
            switch (argv[1][0]) {
            case 'a': alarm(1); for (;;) ;
            case 'p': alarm(1); pause(); return 3;
            case 'r': raise(SIGUSR1); return got;
            case 't': raise(SIGTERM); return 3;
            case 'x': abort();
            }
            return 3;
        }"#;
    let module = Guest::c(source).module();
    let run = |argument: &str| {
        let options =
            DomainOptions::new().arguments(["program", argument]).time_limit(Duration::from_secs(60));
        Domain::run(&module, options).unwrap().outcome
    };
    for (argument, kind) in [
        ("a", FaultKind::Signal(libc::SIGALRM as u8)),
        ("p", FaultKind::Signal(libc::SIGALRM as u8)),
        ("t", FaultKind::Signal(libc::SIGTERM as u8)),
        ("x", FaultKind::Abort),
    ] {
        let error = run(argument).unwrap_err();
        assert_eq!(error.fault().unwrap().kind(), kind, "{error}");
    }
    assert_eq!(run("r").unwrap(), libc::SIGUSR1);
}

/// The runtime copies a file that is mapped privately: within the call's time.
#[test]
fn copies_of_files_obey_the_time_limit() {
    let source = r#"
        #include <fcntl.h>
        #include <sys/mman.h>
        #include <unistd.h>
        int map(void) {
            int fd = open("/data/big", O_RDONLY);
            return mmap(0, 3L << 28, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0;
        }"#;
    let host = tempfile::tempdir().unwrap();
    std::fs::File::create(host.path().join("big")).unwrap().set_len(3 << 28).unwrap();
    let grants = Grants::default().directory("/data", host.path(), Access::ReadOnly).unwrap();
    let options =
        DomainOptions::new().grants(grants).memory_limit(1 << 30).time_limit(Duration::from_millis(5));
    let domain = Guest::c(source).domain_with(options);
    let error = domain.bind::<extern "C" fn() -> i32>("map").unwrap().call().unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), FaultKind::TimeOut);
    assert!(domain.memory_used() < 64 << 20, "it stopped in the middle, and what it had copied went again");
}

/// Red if `msync` does not have the kernel write: the page of the file would still be dirty.
#[test]
fn a_shared_file_is_on_the_disk_after_msync() {
    let folder = tempfile::tempdir().unwrap();
    if rustix::fs::statfs(folder.path()).unwrap().f_type == TMPFS {
        support::skipped("msync of a shared file", "the temporary folder is in memory (tmpfs)");
        return;
    }
    std::fs::write(folder.path().join("file"), [1; 3 * 4096]).unwrap();
    let grants = Grants::default().directory("/data", folder.path(), Access::ReadWrite).unwrap();
    let source = r#"
        #include <errno.h>
        #include <fcntl.h>
        #include <sys/mman.h>
        char *map(void) { return mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open("/data/file", O_RDWR), 0); }
        int change(char *at, int flags) { at[5000] = 7; return msync(at + 4096, 4096, flags) ? errno : 0; }
        int unmapped(char *at) { return munmap(at, 4096) || !msync(at, 2 * 4096, MS_SYNC) ? 0 : errno; }
    "#;
    let domain = Domain::new(&Guest::c(source).module(), DomainOptions::new().grants(grants)).unwrap();
    let at = domain.bind::<extern "C" fn() -> Pointer<u8>>("map").unwrap().call().unwrap();
    let change = domain.bind::<extern "C" fn(Pointer<u8>, i32) -> i32>("change").unwrap();
    let dirty = || ["Shared_Dirty:", "Private_Dirty:"].map(|name| detail(at.address() + 4096, name));
    assert_eq!(change.call(at, libc::MS_ASYNC).unwrap(), 0);
    assert_eq!(change.call(at, libc::MS_SYNC).unwrap(), 0);
    assert_eq!(dirty(), ["0 kB", "0 kB"]);
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap()[5000], 7);
    let unmapped = domain.bind::<extern "C" fn(Pointer<u8>) -> i32>("unmapped").unwrap();
    assert_eq!(unmapped.call(at).unwrap(), libc::ENOMEM);
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
    assert!(crate::common::mappings(0, u64::MAX).len() < 10 * domains.len() + 1000);
}

/// What a number leads to is not taken for the module's verified file. Red if it is: the other file's bytes run.
#[test]
fn another_file_under_the_number_of_a_modules_is_not_mapped() {
    let output = crate::common::in_child("domains::child_closes_what_it_has_not_opened");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by another_file_under_the_number_of_a_modules_is_not_mapped"]
fn child_closes_what_it_has_not_opened() {
    let module = Guest::c("int fine(void) { return 1; }").module();
    let fine = |domain: Domain| domain.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap();
    assert_eq!(fine(Domain::new(&module, DomainOptions::new()).unwrap()), 1);
    let modules: Vec<i32> = std::fs::read_dir("/proc/self/fd")
        .expect("/proc is mounted")
        .map(|entry| entry.expect("a descriptor").path())
        .filter(|path| {
            std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("lockgate-module"))
        })
        .map(|path| path.file_name().expect("a number").to_string_lossy().parse().expect("a number"))
        .collect();
    let [number] = modules[..] else { panic!("{modules:?}") };
    let mut other = tempfile::tempfile().expect("a scratch file");
    std::io::Write::write_all(&mut other, &[0xcc; 1 << 20]).expect("room");
    crate::common::host_sys::put_at(&other, number);
    let Err(error) = Domain::new(&module, DomainOptions::new()) else { panic!("another file was mapped") };
    assert!(error.to_string().contains("close no descriptor that the program has not opened"), "{error}");
}

/// A process without address space gets an error that says so, and goes on.
#[test]
fn no_address_space_is_an_error() {
    let output = crate::common::in_child("domains::child_runs_out_of_address_space");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("no address space or kernel mappings left"), "{output:?}");
    assert!(text.contains("still alive"), "{output:?}");
}

#[test]
#[ignore = "run by no_address_space_is_an_error"]
fn child_runs_out_of_address_space() {
    let module = module();
    crate::common::host_sys::limit_address_space(4 << 30);
    println!("{}", Domain::new(&module, DomainOptions::new()).unwrap_err());
    crate::common::host_sys::limit_address_space(u64::MAX);
    Domain::new(&module, DomainOptions::new()).unwrap();
    println!("still alive");
}

/// Calls in a forked child are refused: the watcher and other threads are gone there.
#[test]
fn forked_children_are_refused() {
    let domain = domain();
    let next = domain.bind::<extern "C" fn() -> i32>("next").unwrap();
    next.call().unwrap();
    let refused = crate::common::host_sys::in_fork(|| matches!(next.call(), Err(CallError::Forked)));
    assert!(refused, "the child entered");
    assert_eq!(next.call().unwrap(), 2);
}

/// A process that has closed its standard streams gives their numbers to the files that are opened next: none of the library's or of a
/// domain's gets one, or another domain that is granted the process's streams would have it, and so would the process's own messages.
#[test]
fn nothing_that_is_opened_becomes_a_stream_of_the_process() {
    let output = crate::common::in_child("domains::child_without_streams");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by nothing_that_is_opened_becomes_a_stream_of_the_process"]
fn child_without_streams() {
    const OPENS: &str = "
        #include <errno.h>
        #include <fcntl.h>
        #include <unistd.h>
        int hold(void) {
            int ends[2];
            return pipe(ends) || open(\"/data/secret\", O_RDWR) < 0 ? errno : 0;
        }
        int streams(void) {
            int known = 0;
            for (int fd = 0; fd < 3; fd++) known |= (fcntl(fd, F_GETFD) >= 0) << fd;
            return known;
        }";
    let bytes = Guest::c(OPENS).build();
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("secret"), "a tenant's").unwrap();
    crate::common::host_sys::close_standard_streams();
    let module = Module::from_bytes(&bytes).unwrap();
    let grants = Grants::default().directory("/data", host.path(), Access::ReadWrite).unwrap();
    let tenant = Domain::new(&module, DomainOptions::new().grants(grants)).unwrap();
    assert_eq!(tenant.bind::<extern "C" fn() -> i32>("hold").unwrap().call().unwrap(), 0);
    let grants = Grants::default().standard_streams().unwrap();
    let other = Domain::new(&module, DomainOptions::new().grants(grants)).unwrap();
    assert_eq!(other.bind::<extern "C" fn() -> i32>("streams").unwrap().call().unwrap(), 0);
    for number in 0..3 {
        let link = std::fs::read_link(format!("/proc/self/fd/{number}"));
        assert!(link.is_err(), "{number}: {link:?}");
    }
}

/// Constructors have the mask already, and it is back behind a reset, whatever the domain has made of it.
#[test]
fn a_domain_begins_with_the_mask_that_the_host_says() {
    let source = "#include <sys/stat.h>\n\
        static mode_t first;\n\
        __attribute__((constructor)) static void init(void) { first = umask(0), umask(first); }\n\
        int masks(void) { return first << 16 | umask(0111); }\n";
    let module = Guest::c(source).module();
    let said = |mask| (DomainOptions::new().umask(mask), mask);
    for (options, mask) in [(DomainOptions::new(), 0o022), said(0), said(0o027), said(0o777)] {
        let masks = |domain: &Domain| domain.bind::<extern "C" fn() -> u32>("masks").unwrap().call().unwrap();
        let mut own = Domain::new(&module, options.clone()).unwrap();
        let pool = Pool::new(&module, options, 1);
        for _ in 0..2 {
            assert_eq!(masks(&own), mask << 16 | mask, "{mask:o}");
            own.reset().unwrap();
            assert_eq!(masks(&pool.take().unwrap()), mask << 16 | mask, "{mask:o}");
        }
    }
}

/// A start that leaves something in everything that a domain has but its memory.
const STARTS: &str = r#"
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
static int got;
static void note(int signal) { got = signal; }
__attribute__((constructor)) static void init(void) {
    struct sigaction action = {.sa_handler = note};
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR2);
    sigaction(SIGUSR1, &action, 0), sigprocmask(SIG_BLOCK, &set, 0);
    umask(077);
    struct itimerval day = {.it_value.tv_sec = 86400};
    if (getenv("TIMER")) setitimer(ITIMER_REAL, &day, 0);
    if (getenv("SENDS")) kill(getpid(), SIGUSR2);
}
/* A digit for each thing that is as the start has left it. */
int find(void) {
    sigset_t now, waiting;
    sigprocmask(SIG_BLOCK, 0, &now), sigpending(&waiting);
    mode_t mask = umask(0);
    umask(mask);
    got = 0, raise(SIGUSR1);
    struct itimerval left;
    getitimer(ITIMER_REAL, &left);
    return (got == SIGUSR1) + 10 * sigismember(&now, SIGUSR2) + 100 * (mask == 077) + 1000 * (left.it_value.tv_sec > 0)
        + 10000 * sigismember(&waiting, SIGUSR2);
}
int spoil(void) {
    struct itimerval none = {0};
    setitimer(ITIMER_REAL, &none, 0), signal(SIGUSR1, SIG_IGN), signal(SIGUSR2, SIG_IGN), umask(022);
    sigset_t set;
    sigemptyset(&set), sigprocmask(SIG_SETMASK, &set, 0);
    return 0;
}
"#;

/// What a module's start has made of signals, masks, files and timers is there for each user of a domain of a pool, as it is in a new domain.
/// Red if a reset brings back the memory alone.
#[test]
fn a_reset_brings_back_what_the_start_has_made() {
    let module = Guest::c(STARTS).module();
    for (name, expected) in [("NONE", 111), ("TIMER", 1111), ("SENDS", 10111)] {
        let options = || DomainOptions::new().environment(name, "1");
        let call =
            |domain: &Domain, name| domain.bind::<extern "C" fn() -> i32>(name).unwrap().call().unwrap();
        let mut own = Domain::new(&module, options()).unwrap();
        let pool = Pool::new(&module, options(), 1);
        for _ in 0..3 {
            assert_eq!(call(&own, "find"), expected, "{name}");
            call(&own, "spoil");
            own.reset().unwrap();
            let domain = pool.take().unwrap();
            assert_eq!(call(&domain, "find"), expected, "{name}, of a pool");
            call(&domain, "spoil");
        }
    }
}
