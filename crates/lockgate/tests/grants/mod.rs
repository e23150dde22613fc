//! Grants: memory shared with domains, and what they can do to it and with it (docs/grants.md).

mod arenas;
mod attacks;
mod host_sys;
mod passing_on;
mod regions;
mod revocation;
mod rights;
mod rings;
mod slices;

use crate::common::Guest;
use lockgate::{CallError, Domain, DomainOptions, FaultKind, Module, Pointer};
use std::sync::{Arc, OnceLock};

/// What the guests of these tests can do.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
long load(volatile long *p) { return *p; }
long store(volatile long *p, long value) { *p = value; return value; }
void count(volatile long *p) { for (;;) ++*p; }
void watch(volatile long *p, volatile long *seen) { for (;;) *seen = *p; }
long *follow(long **p) { return *p; }
/* The memory services, with four words each. */
long map(long at, long n, long prot, long flags) { void *p = mmap((void *)at, n, prot, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); return p == MAP_FAILED ? -errno : (long)p; }
long unmap(long at, long n, long c, long d) { (void)c, (void)d; return munmap((void *)at, n) ? -errno : 0; }
long rights(long at, long n, long prot, long d) { (void)d; return mprotect((void *)at, n, prot) ? -errno : 0; }
long forget(long at, long n, long advice, long d) { (void)d; return madvise((void *)at, n, advice) ? -errno : 0; }
long move(long at, long n, long m, long d) { (void)d; void *p = mremap((void *)at, n, m, MREMAP_MAYMOVE); return p == MAP_FAILED ? -errno : (long)p; }
long move_to(long at, long n, long to, long d) { (void)d; void *p = mremap((void *)at, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)to); return p == MAP_FAILED ? -errno : (long)p; }
long heap(long to, long b, long c, long d) { (void)b, (void)c, (void)d; return syscall(SYS_brk, to); }
"#;

fn module() -> Arc<Module> {
    static MODULE: OnceLock<Arc<Module>> = OnceLock::new();
    MODULE.get_or_init(|| Guest::c(SOURCE).module()).clone()
}

/// Calls end at last: a thread that a revocation did not stop would count for ever.
fn domain(name: &str) -> Domain {
    let options = DomainOptions::new().name(name).time_limit(std::time::Duration::from_secs(60));
    Domain::new(&module(), options).unwrap()
}

fn load(domain: &Domain, at: Pointer<i64>) -> Result<i64, CallError> {
    domain.bind::<extern "C" fn(Pointer<i64>) -> i64>("load").unwrap().call(at)
}

fn store(domain: &Domain, at: Pointer<i64>, value: i64) -> Result<i64, CallError> {
    domain.bind::<extern "C" fn(Pointer<i64>, i64) -> i64>("store").unwrap().call(at, value)
}

/// A call that must have ended in a fault at `at`.
#[track_caller]
fn faulted<T: std::fmt::Debug>(result: Result<T, CallError>, at: Pointer<i64>) {
    let error = result.expect_err("the access must fault");
    let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(fault.kind(), FaultKind::Segv, "{error}");
    assert_eq!(fault.address(), Some(at.offset()), "{error}");
    assert!(error.to_string().contains("shared memory without the right"), "{error}");
}
