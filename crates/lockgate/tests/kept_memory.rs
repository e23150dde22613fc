//! What a domain gives back is kept for its next request (docs/decisions/0049): it must come back empty, not outlast the domain's
//! contents, not count twice, and not be a file. Each test says which protection it attacks.

use crate::common::Guest;
use lockgate::syscall::{Access, Grants};
use lockgate::{Domain, DomainOptions, FaultKind, Module, Pool};
use lockgate_abi::PAGE;
use std::sync::{Arc, LazyLock};

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#define AT(p) ((void *)(p))
long map(long at, long n, long rights) { void *p = mmap(AT(at), n, rights, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0); return p == MAP_FAILED ? -errno : (long)p; }
long unmap(long at, long n) { return munmap(AT(at), n) ? -errno : 0; }
long fill(long at, long n) { for (long i = 0; i < n; i++) ((volatile char *)at)[i] = 0x5a; return 0; }
long bytes(long at, long n) { long sum = 0; for (long i = 0; i < n; i++) sum += ((volatile char *)at)[i] != 0; return sum; }
long grow(long at, long n, long m) { void *p = mremap(AT(at), n, m, MREMAP_MAYMOVE); return p == MAP_FAILED ? -errno : (long)p; }
long advise(long at, long n, long advice) { return madvise(AT(at), n, advice) ? -errno : 0; }
long map_file(long n) {
    int fd = open("/data/file", O_RDWR);
    void *p = mmap(0, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? -errno : (long)p;
}
"#;

const READ: i64 = 1;
const RW: i64 = 3;
const SIZE: i64 = 8 * PAGE as i64;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c_with(SOURCE, &["-O1"]).module());

/// Calls a function of the guest; its arguments are numbers, because attacks pass what they like.
fn call(domain: &Domain, name: &str, [a, b, c]: [i64; 3]) -> Result<i64, FaultKind> {
    let function = domain.bind::<extern "C" fn(i64, i64, i64) -> i64>(name).expect("an export");
    function.call(a, b, c).map_err(|error| error.fault().expect("a fault").kind())
}

fn domain(options: DomainOptions) -> Domain {
    Domain::new(&MODULE, options).expect("a domain")
}

/// Maps memory, fills it and gives it back; where it was.
fn leave_secrets(domain: &Domain) -> i64 {
    let at = call(domain, "map", [0, SIZE, RW]).unwrap();
    call(domain, "fill", [at, SIZE, 0]).unwrap();
    assert_eq!(call(domain, "unmap", [at, SIZE, 0]), Ok(0));
    at
}

/// Red if `Services::back` does not empty what it gives again.
#[test]
fn it_comes_back_empty() {
    let domain = domain(DomainOptions::new());
    let at = leave_secrets(&domain);
    assert_eq!(call(&domain, "map", [0, SIZE, RW]), Ok(at), "the same memory");
    assert_eq!(call(&domain, "bytes", [at, SIZE, 0]), Ok(0));
    let at = leave_secrets(&domain);
    let page = PAGE as i64;
    assert_eq!(call(&domain, "map", [at + page, page, RW]), Ok(at + page), "a part of it");
    assert_eq!(call(&domain, "bytes", [at + page, page, 0]), Ok(0));
}

/// Memory that grows elsewhere takes its contents along, leaves them to nobody, and ends in zeros.
#[test]
fn what_moves_keeps_its_contents() {
    let domain = domain(DomainOptions::new());
    leave_secrets(&domain);
    for size in [SIZE, 4 << 20] {
        let at = call(&domain, "map", [0, size + PAGE as i64, RW]).unwrap();
        call(&domain, "fill", [at, size, 0]).unwrap();
        let blocker = call(&domain, "map", [at + size, PAGE as i64, READ]);
        assert_eq!(blocker, Ok(at + size), "so that it has to move");
        let moved = call(&domain, "grow", [at, size, 2 * size]).unwrap();
        assert_ne!(moved, at);
        assert_eq!(call(&domain, "bytes", [moved, 2 * size, 0]), Ok(size));
        assert_eq!(call(&domain, "map", [at, size, RW]), Ok(at));
        assert_eq!(call(&domain, "bytes", [at, size, 0]), Ok(0));
    }
}

/// Red if `Services::back` takes it for rights other than those it has.
#[test]
fn it_has_the_rights_that_are_asked_for() {
    let domain = domain(DomainOptions::new());
    let at = leave_secrets(&domain);
    assert_eq!(call(&domain, "map", [at, SIZE, READ]), Ok(at));
    assert_eq!(call(&domain, "bytes", [at, SIZE, 0]), Ok(0));
    assert_eq!(call(&domain, "fill", [at, 1, 0]), Err(FaultKind::Segv));
    // And what could only be read is not kept as if it could be written.
    let domain = self::domain(DomainOptions::new());
    let at = call(&domain, "map", [0, SIZE, READ]).unwrap();
    assert_eq!(call(&domain, "unmap", [at, SIZE, 0]), Ok(0));
    assert_eq!(call(&domain, "map", [at, SIZE, RW]), Ok(at));
    assert_eq!(call(&domain, "fill", [at, SIZE, 0]), Ok(0));
}

/// Red if `Services::reset` forgets it.
#[test]
fn a_reset_takes_it_away() {
    let mut domain = domain(DomainOptions::new());
    let at = leave_secrets(&domain);
    domain.reset().unwrap();
    assert_eq!(call(&domain, "bytes", [at, SIZE, 0]), Err(FaultKind::Segv));
}

/// Red if `Services::restore` forgets it.
#[test]
fn a_pool_takes_it_away() {
    let pool = Pool::new(&MODULE, DomainOptions::new(), 1);
    let domain = pool.take().unwrap();
    let (base, at) = (domain.base(), leave_secrets(&domain));
    drop(domain);
    let domain = pool.take().unwrap();
    assert_eq!(domain.base(), base, "the same domain");
    assert_eq!(call(&domain, "bytes", [at, SIZE, 0]), Err(FaultKind::Segv));
}

/// Red if `Books::may_keep` does not look whether a file is behind it: the next owner would write there.
#[test]
fn files_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, vec![1; SIZE as usize]).unwrap();
    let grants = Grants::default().directory("/data", folder.path(), Access::ReadWrite).unwrap();
    let domain = domain(DomainOptions::new().grants(grants));
    let at = call(&domain, "map_file", [SIZE, 0, 0]).unwrap();
    assert_eq!(call(&domain, "unmap", [at, SIZE, 0]), Ok(0));
    let again = call(&domain, "map", [0, SIZE, RW]).unwrap();
    call(&domain, "fill", [again, SIZE, 0]).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), vec![1; SIZE as usize]);
}

/// Red if `Services::back` lets kept memory stay when the limit is reached, or `Books::may_keep` keeps any amount.
#[test]
fn it_counts_against_the_limit() {
    let limit = 16 << 20;
    let domain = domain(DomainOptions::new().memory_limit(limit));
    let accessible = || -> u64 {
        let area = crate::common::mappings(domain.base(), domain.base() + lockgate_abi::window::STRIDE);
        area.iter().filter(|mapping| mapping.accessible()).map(|mapping| mapping.end - mapping.start).sum()
    };
    // The gate table, and nothing else, is accessible and not counted.
    let uncounted = accessible() - domain.memory_used();
    let leave = |pieces: i64| {
        let at: Vec<i64> = (0..pieces).map(|_| call(&domain, "map", [0, 1 << 20, RW]).unwrap()).collect();
        at.iter().for_each(|at| assert_eq!(call(&domain, "unmap", [*at, 1 << 20, 0]), Ok(0)));
        at.into_iter().min().unwrap()
    };
    let used = domain.memory_used();
    let lowest = leave(8);
    assert_eq!(domain.memory_used(), used);
    let kept = accessible() - uncounted - used;
    assert!(kept > 0 && kept <= 4 << 20, "{kept} bytes are kept");
    // Elsewhere, and with it too much.
    let most = ((limit - used) / PAGE * PAGE) as i64;
    assert_eq!(call(&domain, "map", [lowest - 2 * most, most, RW]), Ok(lowest - 2 * most));
    assert!(accessible() - uncounted <= limit, "{} bytes beyond the limit", accessible() - uncounted - limit);
}

/// `MADV_FREE` of a little does nothing, as the kernel may do, for allocators give it page by page; of much it gives the memory back, and
/// `MADV_DONTNEED` empties any. Red if `madvise` takes one for the other, or any `MADV_FREE` for a little.
#[test]
fn advice_to_free_counts_if_it_is_for_much() {
    let (free, dont_need) = (8, 4);
    let size = 1 << 20;
    let domain = domain(DomainOptions::new());
    let at = call(&domain, "map", [0, size, RW]).unwrap();
    let left = |length, advice| {
        call(&domain, "fill", [at, size, 0]).unwrap();
        assert_eq!(call(&domain, "advise", [at, length, advice]), Ok(0));
        call(&domain, "bytes", [at, size, 0]).unwrap()
    };
    let page = PAGE as i64;
    assert_eq!(left(page, free), size);
    assert_eq!(left(size, free), 0);
    assert_eq!(left(page, dont_need), size - page);
    let code = (domain.base() + lockgate_abi::window::IMAGE) as i64;
    for advice in [free, dont_need] {
        assert_eq!(call(&domain, "advise", [code, page, advice]), Ok(-i64::from(libc::EPERM)), "not its own");
    }
}
