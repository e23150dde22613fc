//! The C library inside a domain, used by several host threads at once (docs/sysroot.md, "Start code").

use lockgate::{CallError, Domain, DomainOptions, Fault, FaultKind, Module};
use lockgate_toolchain::{Link, Sysroot, silent};
use std::sync::Arc;
use std::time::Duration;

const SOURCE: &str = r#"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int counter = 100;
static _Thread_local char zeros[64];
static pthread_key_t key;
static int destroyed;

static void destructor(void *value) { __atomic_fetch_add(&destroyed, *(int *)value, __ATOMIC_SEQ_CST); free(value); }
__attribute__((constructor)) static void make_key(void) { pthread_key_create(&key, destructor); }

int bump(void) { return ++counter + zeros[13]; }
int set_errno(int value) { return errno = value; }
int get_errno(void) { return errno; }
void set_specific(int value) {
    int *place = malloc(sizeof *place);
    *place = value;
    pthread_setspecific(key, place);
}
int destroyed_sum(void) { return __atomic_load_n(&destroyed, __ATOMIC_SEQ_CST); }

/* Allocates, fills, prints and checks; anything shared without a lock shows sooner or later. */
int hammer(int seed, int rounds) {
    char *blocks[64] = {0};
    unsigned state = seed;
    for (int i = 0; i < rounds; i++) {
        state = state * 1103515245 + 12345;
        int at = (state >> 8) % 64;
        if (blocks[at]) {
            char expected[32];
            snprintf(expected, sizeof expected, "%d-%d", seed, at);
            if (strcmp(blocks[at], expected)) return i + 1;
            free(blocks[at]);
            blocks[at] = NULL;
        } else {
            blocks[at] = malloc(32 + (state >> 16) % 2000);
            sprintf(blocks[at], "%d-%d", seed, at);
        }
    }
    for (int i = 0; i < 64; i++) free(blocks[i]);
    return 0;
}

/* Small blocks wait for their thread's next call of malloc. */
int cleared(size_t size) {
    for (int round = 0; round < 40; round++) {
        char *block = malloc(size);
        memset(block, 0xff, size);
        free(block);
        block = calloc(1, size);
        for (size_t i = 0; i < size; i++)
            if (block[i]) return 0;
        free(block);
    }
    errno = 0;
    return calloc((size_t)-1 / 2, 3) == NULL && errno == ENOMEM;
}
int aligned(void) {
    static char *blocks[4500];
    for (size_t size = 0; size < 4500; size++) {
        blocks[size] = malloc(size);
        if (!blocks[size] || (size_t)blocks[size] % 16 || malloc_usable_size(blocks[size]) < size) return 0;
        memset(blocks[size], (char)size, malloc_usable_size(blocks[size]));
    }
    /* They have not met. */
    for (size_t size = 0; size < 4500; size++)
        for (size_t i = 0; i < malloc_usable_size(blocks[size]); i++)
            if (blocks[size][i] != (char)size) return 0;
    for (size_t size = 0; size < 4500; size++) {
        /* From each size to one of each. */
        size_t other = size * 37 % 4500, least = size < other ? size : other;
        blocks[size] = realloc(blocks[size], other);
        for (size_t i = 0; i < least; i++)
            if (blocks[size][i] != (char)size) return 0;
        memset(blocks[size], 2, other);
        free(blocks[size]);
    }
    for (size_t size = 1; size < 600; size++) {
        void *at = realloc(malloc(size), 600 - size);
        void *other;
        if (posix_memalign(&other, 64, size) || (size_t)other % 64) return 0;
        free(at);
        free(other);
    }
    return 1;
}
void free_twice(size_t size, int between) {
    char *block = malloc(size), *other = malloc(size);
    free(block);
    if (between) free(other);
    free(block);
}
/* So many blocks that they are with all others again, and not with those of the thread. */
void free_long_ago(size_t size) {
    static char *blocks[600];
    for (int i = 0; i < 600; i++) blocks[i] = malloc(size);
    for (int i = 0; i < 600; i++) free(blocks[i]);
    free(blocks[0]);
}
/* As if it were from nobody: with zeros. */
void *get(size_t size) { return calloc(1, size); }
void put(void *block) { free(block); }
void free_odd(size_t size) { free((char *)malloc(size) + 8); }
/* A megabyte of each of some sizes, again and again. */
int come_and_go(void) {
    static char *blocks[65536];
    for (size_t size = 16; size <= 4096; size += 16) {
        size_t count = (1 << 20) / size;
        for (size_t i = 0; i < count; i++)
            if (!(blocks[i] = malloc(size))) return (int)size;
        for (size_t i = 0; i < count; i++) free(blocks[i]);
    }
    return 0;
}
/* Blocks of one thread that others free. */
static char *passed[1024];
int pass_on(int seed, int rounds) {
    unsigned state = seed;
    for (int i = 0; i < rounds; i++) {
        state = state * 1103515245 + 12345;
        size_t size = 32 + (state >> 16) % 900;
        char *block = malloc(size);
        memset(block, seed, size);
        block = __atomic_exchange_n(&passed[(state >> 8) % 1024], block, __ATOMIC_ACQ_REL);
        for (int at = 1; block && at < 32; at++)
            if (block[at] != block[0]) return i + 1;
        free(block);
    }
    return 0;
}
void hammer_on(int seed) { for (;;) if (hammer(seed, 1000)) __builtin_trap(); }
void keep_some(void) {
    void *blocks[32][20];
    for (int class = 0; class < 32; class++)
        for (int i = 0; i < 20; i++) blocks[class][i] = malloc(16 * class + 1);
    for (int class = 0; class < 32; class++)
        for (int i = 0; i < 20; i++) free(blocks[class][i]);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long total;
long locked_add(int times) {
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&mutex);
        total++;
        pthread_mutex_unlock(&mutex);
    }
    return total;
}
"#;

fn domain() -> Domain {
    Domain::new(&module(), DomainOptions::new()).unwrap()
}

fn module() -> Arc<Module> {
    let folder = tempfile::tempdir().unwrap();
    let sysroot = Sysroot::ensure(&silent).unwrap();
    let (source, object) = (folder.path().join("threads.c"), folder.path().join("threads.o"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut gcc = sysroot.tools().compiler();
    gcc.args(["-O2", "-fno-builtin", "-w", "-fstack-protector-all", "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&object);
    assert!(gcc.status().unwrap().success());
    let output = folder.path().join("threads.lg");
    let mut link = Link::new(&output);
    link.file(&object).unwrap().export_all(true);
    link.run(&sysroot, &silent).unwrap();
    Module::open(&output).unwrap()
}

const THREADS: i32 = 6;

/// Thread-local variables, errno and pthread keys belong to the thread; keys' destructors run when it ends.
#[test]
fn thread_local_state() {
    let domain = domain();
    let bump = domain.bind::<extern "C" fn() -> i32>("bump").unwrap();
    let set_errno = domain.bind::<extern "C" fn(i32) -> i32>("set_errno").unwrap();
    let get_errno = domain.bind::<extern "C" fn() -> i32>("get_errno").unwrap();
    let set_specific = domain.bind::<extern "C" fn(i32)>("set_specific").unwrap();
    assert_eq!(bump.call().unwrap(), 101);
    std::thread::scope(|scope| {
        let threads = (1..=THREADS).map(|thread| {
            let (bump, set_errno, get_errno, set_specific) = (&bump, &set_errno, &get_errno, &set_specific);
            scope.spawn(move || {
                set_errno.call(thread).unwrap();
                set_specific.call(thread).unwrap();
                for round in 0..1000 {
                    assert_eq!(bump.call().unwrap(), 101 + round);
                    assert_eq!(get_errno.call().unwrap(), thread);
                }
            })
        });
        // A scope alone does not wait for what a thread does at its very end.
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(bump.call().unwrap(), 102);
    let destroyed = domain.bind::<extern "C" fn() -> i32>("destroyed_sum").unwrap();
    assert_eq!(destroyed.call().unwrap(), (1..=THREADS).sum::<i32>(), "every thread's destructor ran once");
}

/// malloc, stdio and mutexes with every thread inside at once.
#[test]
fn shared_state() {
    let domain = domain();
    let hammer = domain.bind::<extern "C" fn(i32, i32) -> i32>("hammer").unwrap();
    let locked_add = domain.bind::<extern "C" fn(i32) -> i64>("locked_add").unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=THREADS {
            let (hammer, locked_add) = (&hammer, &locked_add);
            scope.spawn(move || {
                assert_eq!(hammer.call(thread, 50_000).unwrap(), 0);
                locked_add.call(10_000).unwrap();
            });
        }
    });
    assert_eq!(locked_add.call(0).unwrap(), i64::from(THREADS) * 10_000);
    let pass_on = domain.bind::<extern "C" fn(i32, i32) -> i32>("pass_on").unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=THREADS {
            let pass_on = &pass_on;
            scope.spawn(move || assert_eq!(pass_on.call(thread, 50_000).unwrap(), 0));
        }
    });
}

/// Calls that are ended in the midst of the allocator leave it as it is, or with its lock, which the next one says.
#[test]
fn calls_that_end_in_malloc() {
    let module = module();
    let options = || DomainOptions::new().time_limit(Duration::from_millis(2));
    let (mut domain, mut ended) = (Domain::new(&module, options()).unwrap(), 0);
    for seed in 1..=100 {
        let hammer_on = domain.bind::<extern "C" fn(i32)>("hammer_on").unwrap();
        let error = hammer_on.call(seed).expect_err("it never ends");
        match error.fault().map(Fault::kind) {
            Some(FaultKind::TimeOut) => ended += 1,
            Some(FaultKind::Abort) if error.to_string().contains("a lock of its C library") => {
                domain = Domain::new(&module, options()).unwrap();
            }
            _ => panic!("{error}"),
        }
    }
    assert!(ended >= 50, "{ended}");
}

/// Memory for many blocks of one size is there for another size afterwards.
#[test]
fn small_blocks_of_all_sizes_share_the_memory() {
    let domain = Domain::new(&module(), DomainOptions::new().memory_limit(16 << 20)).unwrap();
    assert_eq!(domain.bind::<extern "C" fn() -> i32>("come_and_go").unwrap().call().unwrap(), 0);
}

/// Blocks that wait are as good as new ones, and a second `free` is noticed.
#[test]
fn small_blocks() {
    let domain = domain();
    let cleared = domain.bind::<extern "C" fn(usize) -> i32>("cleared").unwrap();
    for size in [1, 15, 16, 17, 100, 511, 512, 513, 640, 641, 1024, 1025, 4096, 4097] {
        assert_eq!(cleared.call(size).unwrap(), 1, "{size}");
    }
    assert_eq!(domain.bind::<extern "C" fn() -> i32>("aligned").unwrap().call().unwrap(), 1);
    // The last thing that a thread does with the allocator may be the first.
    let block = domain.bind::<extern "C" fn(usize) -> i64>("get").unwrap().call(40).unwrap();
    let put = domain.bind::<extern "C" fn(i64)>("put").unwrap();
    std::thread::scope(|scope| scope.spawn(|| put.call(block).unwrap()).join().unwrap());
    let noticed = |name: &str, call: &dyn Fn(&Domain) -> Result<(), CallError>| {
        let error = call(&self::domain()).expect_err(name);
        error.fault().unwrap_or_else(|| panic!("{name}: {error}")).clone()
    };
    let explained = |fault: Fault| {
        assert!(fault.kind() == FaultKind::Abort && fault.reason().contains("free() of "), "{fault}");
    };
    let free_twice = |size, between| {
        noticed("free_twice", &|domain| {
            domain.bind::<extern "C" fn(usize, i32)>("free_twice").unwrap().call(size, between)
        })
    };
    for (size, between) in [(24, 0), (24, 1), (512, 1), (4000, 0)] {
        explained(free_twice(size, between));
    }
    // A block of musl's own allocator, and blocks whose chunk may have gone back.
    let by_musl = |kind| matches!(kind, FaultKind::Ill | FaultKind::Segv);
    assert!(by_musl(free_twice(5000, 0).kind()));
    for size in [24, 1000, 4000] {
        let free =
            |name| noticed(name, &|domain| domain.bind::<extern "C" fn(usize)>(name).unwrap().call(size));
        explained(free("free_odd"));
        let kind = free("free_long_ago").kind();
        assert!(kind == FaultKind::Abort || by_musl(kind), "{kind:?}");
    }
}

/// More threads over time than there are stack slots: what a thread had is given back.
#[test]
fn threads_come_and_go() {
    let domain = domain();
    let bump = domain.bind::<extern "C" fn() -> i32>("bump").unwrap();
    let keep_some = domain.bind::<extern "C" fn()>("keep_some").unwrap();
    bump.call().unwrap();
    let mut used = Vec::new();
    for _ in 0..200 {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                keep_some.call().unwrap();
                assert_eq!(bump.call().unwrap(), 101);
            });
            thread.join().unwrap();
        });
        used.push(domain.memory_used());
    }
    assert_eq!(used[10], used[199], "memory grows with every thread: {used:?}");
}
