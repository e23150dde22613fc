//! A process has 65,530 kernel mappings by default, for all of its domains and itself (`vm.max_map_count`): no domain gets more than its
//! share, however it asks. Each test says which protection it attacks.

use crate::common::{Guest, mappings};
use lockgate::syscall::{Access, Grants};
use lockgate::{Domain, DomainOptions, FaultKind};
use lockgate_abi::window;
use std::time::Duration;

/// Each attack makes `n` mappings, as far as it gets, of one range that the books have as one.
const ATTACKS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#define P 4096l
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)
static char *room(long pages) {
    char *at = mmap(0, pages * P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at, pages * P);
    return at;
}
static int put(char *at, int rights) { return mmap(at, P, rights, ANON, -1, 0) != MAP_FAILED; }
/* Pages that were written before they met keep to themselves. */
long written_apart(long n) {
    char *at = room(2 * n + 16);
    for (long b = 0; b < n; b += 500) {
        for (long i = b; i < b + 500 && i < n; i++) { if (!put(at + 2 * i * P, 3)) return i; at[2 * i * P] = 1; }
        for (long i = b; i < b + 500 && i < n; i++) if (!put(at + (2 * i + 1) * P, 3)) return i;
    }
    return n;
}
/* As above, and mprotect lets them meet. */
long made_equal(long n) {
    char *at = room(2 * n + 16);
    for (long b = 0; b < n; b += 400) {
        for (long i = b; i < b + 400 && i < n; i++) { if (!put(at + 2 * i * P, 3) || !put(at + (2 * i + 1) * P, 1)) return i; at[2 * i * P] = 1; }
        if (mprotect(at + 2 * b * P, 800 * P, 3)) return b;
    }
    return n;
}
/* Inaccessible by mmap and by mprotect. */
long inaccessible_in_turns(long n) {
    char *at = room(n + 16);
    if (mmap(at, n * P, PROT_NONE, ANON, -1, 0) == MAP_FAILED) return -1;
    for (long i = 0; i < n; i += 2) {
        if (mprotect(at + i * P, P, 3)) return i;
        at[i * P] = 1;
        if (mprotect(at + i * P, P, 0)) return i;
    }
    return n;
}
/* One page of a file after the other, none of which goes on where the last one ends. */
long pages_of_a_file(long n) {
    int fd = open("/data/file", O_RDWR);
    char *at = room(n + 16);
    for (long i = 0; i < n; i++) if (mmap(at + i * P, P, 3, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) return i;
    return n;
}
/* A file leaves, and its place is written page by page. */
long where_a_file_was(long n) {
    int fd = open("/data/file", O_RDWR);
    char *at = room(2 * n + 16);
    put(at, 3); put(at + (2 * n + 1) * P, 3);
    if (mmap(at + P, 2 * n * P, 3, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) return -1;
    munmap(at + P, 2 * n * P);
    for (long b = 0; b < n; b += 500) {
        for (long i = b; i < b + 500 && i < n; i++) { if (!put(at + (2 * i + 1) * P, 3)) return i; at[(2 * i + 1) * P] = 1; }
        for (long i = b; i < b + 500 && i < n; i++) if (!put(at + (2 * i + 2) * P, 3)) return i;
    }
    return n;
}
/* Files between files leave, the rest follows. */
long where_files_were(long n) {
    int fd = open("/data/file", O_RDWR);
    char *at = room(3 * n + 16);
    for (long b = 0; b < n; b += 50) {
        for (long i = b; i < b + 50 && i < n; i++) for (int j = 0; j < 3; j++)
            if (mmap(at + (3 * i + j) * P, P, 3, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) return i;
        for (long i = b; i < b + 50 && i < n; i++) { munmap(at + (3 * i + 1) * P, P); if (!put(at + (3 * i + 1) * P, 3)) return i; at[(3 * i + 1) * P] = 1; }
        for (long i = b; i < b + 50 && i < n; i++) { munmap(at + 3 * i * P, P); munmap(at + (3 * i + 2) * P, P); }
        for (long i = b; i < b + 50 && i < n; i++) for (int j = 0; j < 3; j += 2) { if (!put(at + (3 * i + j) * P, 3)) return i; at[(3 * i + j) * P] = 1; }
    }
    return n;
}
/* What grows elsewhere, again and again, between what stays. */
long moved(long n) {
    for (long i = 0; i < n; i++) {
        char *at = mmap(0, P, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) return i;
        *at = 1;
        if (mremap(at, P, 3 * P, MREMAP_MAYMOVE) == MAP_FAILED) return i;
    }
    return n;
}
/* A private copy of a file, of which little is there. */
long copy_of_a_file(long n) {
    int fd = open("/data/sparse", O_RDONLY);
    return fd >= 0 && mmap(0, n, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED;
}
/* The same, 2 pages of a file of ones: what it holds after advice that must not be followed, and whether it was refused. */
long advised(long advice) {
    int fd = open("/data/file", O_RDONLY);
    char *at = mmap(0, 2 * P, PROT_READ, MAP_PRIVATE, fd, 0);
    int refused = madvise(at, 2 * P, advice) != 0;
    return at[0] * 100 + at[2 * P - 1] * 10 + refused;
}
/* No attack: rights in turns, two mappings for each round. */
long told_apart(long n) {
    char *at = mmap(0, 2 * n * P, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < n; i++) if (mprotect(at + 2 * i * P, P, 1)) return i;
    return n;
}
/* No attack: memory in many pieces, as allocators take and give it. */
long pieces(long n) {
    enum { KEPT = 400 };
    static char *at[KEPT];
    static long size[KEPT];
    for (long i = 0; i < n; i++) {
        long k = i * 7919 % KEPT;
        if (at[k] && munmap(at[k], size[k])) return i;
        size[k] = (1 + i * 31 % 9) * 65536;
        at[k] = mmap(0, size[k], 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at[k] == MAP_FAILED) return i;
        at[k][0] = at[k][size[k] - 1] = 1;
    }
    return n;
}
"#;

/// The domain's own kernel mappings: two for each of those that it may have, and what a domain has from the start.
const fn most(limit: usize) -> usize {
    2 * limit + 64
}

fn domains(count: usize) -> (tempfile::TempDir, Vec<Domain>) {
    domains_with(count, DomainOptions::new())
}

fn domains_with(count: usize, options: DomainOptions) -> (tempfile::TempDir, Vec<Domain>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), vec![1; 1 << 20]).unwrap();
    let module = Guest::c_with(ATTACKS, &["-O1"]).module();
    let make = || {
        let grants = Grants::default().directory("/data", folder.path(), Access::ReadWrite).unwrap();
        Domain::new(&module, options.clone().memory_limit(1 << 30).grants(grants)).unwrap()
    };
    let domains = std::iter::repeat_with(make).take(count).collect();
    (folder, domains)
}

fn call(domain: &Domain, attack: &str, n: i64) -> i64 {
    domain.bind::<extern "C" fn(i64) -> i64>(attack).unwrap().call(n).unwrap()
}

fn count(domain: &Domain) -> usize {
    mappings(domain.base(), domain.base() + window::STRIDE).len()
}

const NAMES: [&str; 7] = [
    "written_apart",
    "made_equal",
    "inaccessible_in_turns",
    "pages_of_a_file",
    "where_a_file_was",
    "where_files_were",
    "moved",
];

/// Red if reservations are not made one mapping for good, or pieces are counted as the books join them where the kernel does not.
#[test]
fn no_domain_uses_up_the_mappings() {
    attack_all();
}

/// The same where the kernel counts all writable memory as used, and would not have a reservation that is. Red if the books then count as if
/// it had.
#[test]
fn no_domain_uses_up_the_mappings_of_a_frugal_host() {
    let output = crate::common::in_child("mappings::child_of_a_frugal_host");
    assert!(output.status.success(), "{output:?}");
    println!("{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "run by no_domain_uses_up_the_mappings_of_a_frugal_host"]
fn child_of_a_frugal_host() {
    crate::common::host_sys::limit_data(8 << 30);
    attack_all();
    many_pieces_are_no_attack();
}

fn attack_all() {
    let (_folder, domains) = domains(NAMES.len());
    for (attack, domain) in NAMES.iter().zip(&domains) {
        let pages = call(domain, attack, 6000);
        let mappings = count(domain);
        println!("{attack}: {pages} rounds, {mappings} mappings");
        assert!(mappings <= most(1024), "{attack}: {mappings} mappings after {pages} rounds");
    }
}

/// A domain gets as many mappings as its limit says, and no more; a reset and the domain's end leave none. Red if the limit is another, or if
/// anything of it stays.
#[test]
fn a_domain_has_as_many_mappings_as_it_is_given() {
    let output = crate::common::in_child("mappings::child_with_limits");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by a_domain_has_as_many_mappings_as_it_is_given"]
fn child_with_limits() {
    for limit in [40, 16_384] {
        let options = DomainOptions::new().mapping_limit(limit);
        let (_folder, mut domains) = domains_with(1, options);
        let (limit, n) = (limit as usize, 40_000);
        let before = (count(&domains[0]), domains[0].memory_used());
        for (asks, each) in [("pages_of_a_file", 1), ("told_apart", 2)] {
            let rounds = call(&domains[0], asks, n) as usize;
            let mappings = count(&domains[0]);
            assert!((limit - 8..=limit).contains(&(rounds * each)), "{asks}: {rounds} rounds of {limit}");
            assert!(mappings <= most(limit), "{asks}: {mappings} mappings of {limit}");
            domains[0].reset().expect("no function is bound");
            assert_eq!((count(&domains[0]), domains[0].memory_used()), before, "{asks}: after a reset");
        }
        call(&domains[0], "told_apart", n);
        let stride = domains[0].base()..domains[0].base() + window::STRIDE;
        domains[0].kill();
        drop(domains);
        let left = mappings(stride.start, stride.end);
        assert!(left.iter().all(|mapping| !mapping.accessible()) && left.len() <= 8, "{left:?}");
    }
}

/// What allocators do is no attack: nothing is refused, however long it goes on. Red if what is given back is not joined again, by the
/// kernel or the books.
#[test]
fn many_pieces_are_no_attack() {
    let (_folder, domains) = domains(1);
    assert_eq!(call(&domains[0], "pieces", 20_000), 20_000);
    assert!(count(&domains[0]) <= 2 * 400 + 64, "{} mappings", count(&domains[0]));
}

/// A copy is made while the call has time left, and given back if it has not. Red if `mmap` copies the whole file first.
#[test]
fn a_copy_of_a_file_obeys_the_time_limit() {
    const LENGTH: u64 = 1 << 30;
    let folder = tempfile::tempdir().unwrap();
    std::fs::File::create(folder.path().join("sparse")).unwrap().set_len(LENGTH).unwrap();
    let grants = Grants::default().directory("/data", folder.path(), Access::ReadOnly).unwrap();
    let options =
        DomainOptions::new().memory_limit(2 << 30).time_limit(Duration::from_millis(40)).grants(grants);
    let domain = Guest::c_with(ATTACKS, &["-O1"]).domain_with(options);
    let before = domain.memory_used();
    let copy = domain.bind::<extern "C" fn(i64) -> i64>("copy_of_a_file").unwrap();
    let error = copy.call(LENGTH as i64).expect_err("no gigabyte is copied in that time");
    assert_eq!(error.fault().unwrap().kind(), FaultKind::TimeOut, "{error}");
    assert_eq!(domain.memory_used(), before, "it was copied to its end");
}

/// Advice that would have Linux read a file again does not make zeros of it. Red if the copy is taken for memory that never had contents.
#[test]
fn a_copy_of_a_file_is_not_emptied() {
    let (_folder, domains) = domains(1);
    for advice in [libc::MADV_DONTNEED, libc::MADV_FREE] {
        assert_eq!(call(&domains[0], "advised", advice.into()), 111);
    }
    assert_eq!(call(&domains[0], "advised", libc::MADV_WILLNEED.into()), 110);
}
