//! Rules R1–R6: what a domain's memory services can and cannot do. Each test says which protection it attacks.

use crate::common::{Guest, detail, host_sys, in_child, mappings, peek};
use lockgate::syscall::{Access, Grants};
use lockgate::{
    CallError, Domain, DomainOptions, FaultKind, HostError, LoadError, Module, Pointer, ResetError,
};
use lockgate_abi::{PAGE, code, stack, window};
use std::sync::mpsc::channel;

/// Raw system calls, so that the guest asks for exactly what the attack needs.
const SERVICES: &str = r#"
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <errno.h>
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
long map(long at, long n, int prot, int flags) { void *p = mmap((void *)at, n, prot, flags | ANON, -1, 0); return p == MAP_FAILED ? -errno : (long)p; }
long unmap(long at, long n) { return munmap((void *)at, n) ? -errno : 0; }
long rights(long at, long n, int prot) { return mprotect((void *)at, n, prot) ? -errno : 0; }
long forget(long at, long n) { return madvise((void *)at, n, MADV_DONTNEED) ? -errno : 0; }
long move(long at, long n, long to) { void *p = mremap((void *)at, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)to); return p == MAP_FAILED ? -errno : (long)p; }
long grow(long at, long n, long m) { void *p = mremap((void *)at, n, m, MREMAP_MAYMOVE); return p == MAP_FAILED ? -errno : (long)p; }
long heap(long to) { return syscall(SYS_brk, to); }
long touch(long at) { return ++*(volatile long *)at; }
"#;

/// Without debug information, and so without signatures: attacks pass what they like.
fn services() -> Guest {
    Guest::c_with(SERVICES, &["-O2"])
}

const RW: i32 = 3;
const RX: i32 = 5;
const FIXED: i32 = 0x10;

struct Services(Domain);

impl Services {
    fn new() -> Services {
        Services(services().domain_with(DomainOptions::new().memory_limit(1 << 30)))
    }

    fn call(&self, name: &str, arguments: [i64; 4]) -> i64 {
        type Four = extern "C" fn(i64, i64, i64, i64) -> i64;
        self.0
            .bind::<Four>(name)
            .unwrap()
            .call(arguments[0], arguments[1], arguments[2], arguments[3])
            .unwrap()
    }

    fn at(&self, offset: u64) -> i64 {
        (self.0.base() + offset) as i64
    }
}

/// R1. Red if `Stride::clear` unmaps.
#[test]
fn r1_the_stride_never_has_a_hole() {
    let guest = Services::new();
    for round in 1..20_i64 {
        let size = round * 3 * PAGE as i64;
        let a = guest.call("map", [0, size, RW.into(), 0]);
        let b = guest.call("map", [0, size, RW.into(), 0]);
        assert!(a > 0 && b > 0);
        guest.call("touch", [a, 0, 0, 0]);
        let grown = guest.call("grow", [a, size, size * 4, 0]);
        assert!(grown > 0);
        assert_eq!(guest.call("touch", [grown, 0, 0, 0]), 2, "mremap keeps the contents");
        assert_eq!(guest.call("unmap", [b, PAGE as i64, 0, 0]), 0);
        guest.call("heap", [guest.call("heap", [0; 4]) + 5 * PAGE as i64, 0, 0, 0]);
        guest.call("heap", [guest.call("heap", [0; 4]) - 3 * PAGE as i64, 0, 0, 0]);
        let (start, end) = (guest.0.base(), guest.0.base() + window::STRIDE);
        let mut covered = start;
        for mapping in mappings(start, end) {
            assert!(mapping.start <= covered, "a hole at {covered:#x}, before {mapping:x?}");
            covered = mapping.end;
        }
        assert!(covered >= end, "a hole at {covered:#x}");
    }
}

/// R1: what is not mapped for the domain is inaccessible, but taken. Red if the reservation can be read or is given
/// back.
#[test]
fn r1_what_is_not_mapped_is_reserved_and_inaccessible() {
    let guest = Services::new();
    let base = guest.0.base();
    for (start, end) in [
        (0, window::HEADER),
        (window::SHARED, window::STACKS),
        (window::SIZE - stack::GUARD, window::CONTROL + stack::GUARD),
        (window::CONTROL_END, window::STRIDE),
    ] {
        let inside = mappings(base + start, base + end);
        let covered = inside.windows(2).all(|pair| pair[0].end == pair[1].start);
        let ends = inside.first().zip(inside.last());
        let whole = ends.is_some_and(|(f, l)| f.start <= base + start && l.end >= base + end);
        assert!(covered && whole, "a hole in {start:#x}..{end:#x}: {inside:x?}");
        assert!(inside.iter().all(|m| !m.accessible()), "{inside:x?}");
    }
}

/// R1: what lies between a reservation and its strides stays reserved, so that the host's next mapping is no neighbour of a window's. Red if
/// `reserve` gives it back.
#[test]
fn r1_what_alignment_leaves_over_stays_reserved() {
    let module = services().module();
    let make = || Domain::new(&module, DomainOptions::new()).unwrap();
    // Two reservations' worth at least, so that the ends of one are among them.
    let domains: Vec<Domain> = std::iter::repeat_with(make).take(48).collect();
    let mut bases: Vec<u64> = domains.iter().map(Domain::base).collect();
    bases.sort_unstable();
    let runs: Vec<&[u64]> = bases.chunk_by(|a, b| a + window::STRIDE == *b).collect();
    assert!(!runs.is_empty());
    for run in runs {
        for at in [run[0] - PAGE, run[run.len() - 1] + window::STRIDE] {
            let there = mappings(at, at + PAGE);
            assert!(there.len() == 1 && !there[0].accessible(), "beside {run:x?}: {there:x?}");
        }
    }
}

/// R2, the mirror rule: every accessible page of the data stacks has its control page, with guards around both.
/// Red if `Core::map_stacks` maps more data than control, or a service reaches beyond its area.
#[test]
fn r2_data_stacks_mirror_control_stacks() {
    let guest = Services::new();
    // The attack: memory right below the data stack, so that touches succeed while rsp leaves its slot.
    for offset in
        [window::STACKS, window::STACKS + stack::TOP - (1 << 20) - PAGE, window::STACKS + stack::TOP]
    {
        for flags in [FIXED, 0x10_0000] {
            assert_eq!(
                guest.call("map", [guest.at(offset), PAGE as i64, RW.into(), flags.into()]),
                -1,
                "EPERM"
            );
        }
        assert_eq!(guest.call("rights", [guest.at(offset), PAGE as i64, RW.into(), 0]), -1);
    }
    let area = guest.0.base() + window::STACKS..guest.0.base() + window::SIZE;
    let accessible: Vec<_> = mappings(area.start, area.end)
        .into_iter()
        .filter(|m| m.accessible() && m.start >= area.start)
        .collect();
    assert!(!accessible.is_empty());
    for data in accessible {
        let control = mappings(data.start + u64::from(code::OFF), data.end + u64::from(code::OFF));
        assert!(
            control.iter().all(|m| m.rights.starts_with("rw-")),
            "{data:x?} has no control page: {control:x?}"
        );
        let slot = (data.start - area.start) / stack::SLOT * stack::SLOT + area.start;
        assert!(
            data.start >= slot + stack::GUARD && data.end <= slot + stack::SLOT - stack::GUARD,
            "{data:x?}"
        );
    }
}

/// R2: attack C1 of review.md with nothing mapped below: the walk ends at the guard.
#[test]
fn r2_walking_down_the_stack_ends_at_the_guard() {
    let domain = Guest::assembly(
        "function walk
            lea -0x1000(%rsp),%rsp
            mov -OFF(%rsp),%rax
            call walk
            ud2",
    )
    .domain();
    let error = domain.bind::<extern "C" fn()>("walk").unwrap().call().unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), FaultKind::StackOverflow, "{error}");
}

/// R3: no service changes the header, the gate table, thunks, code or constants. Red if `Services::area` starts
/// below the image's end.
#[test]
fn r3_sealed_ranges_cannot_be_changed() {
    let guest = Services::new();
    let image_end = window::IMAGE + guest.0.module().report().text_bytes;
    let before = peek(guest.0.base() + window::HEADER, (image_end - window::HEADER) as usize / 8).unwrap();
    let free = guest.call("map", [0, PAGE as i64, RW.into(), 0]);
    for offset in [window::HEADER, window::GATE_TABLE, window::THUNKS, window::IMAGE, window::IMAGE + 0x1000]
    {
        let (at, page) = (guest.at(offset), PAGE as i64);
        for (name, arguments) in [
            ("map", [at, page, RW.into(), FIXED.into()]),
            ("unmap", [at, page, 0, 0]),
            ("rights", [at, page, RW.into(), 0]),
            ("forget", [at, page, 0, 0]),
            ("move", [free, page, at, 0]),
            ("grow", [at, page, 2 * page, 0]),
        ] {
            let result = guest.call(name, arguments);
            assert!((-4095..0).contains(&result), "{name} of {offset:#x} gave {result:#x}");
        }
    }
    let low = guest.call("heap", [guest.at(window::IMAGE), 0, 0, 0]);
    assert!(low as u64 > guest.0.base() + image_end, "brk below the image");
    let after = peek(guest.0.base() + window::HEADER, before.len()).unwrap();
    assert!(before == after, "sealed bytes changed");
}

/// R3: the module itself cannot write what is sealed. Red if header and gate table stay writable once they are
/// filled, or if code or constants are mapped with more rights.
#[test]
fn r3_the_module_cannot_write_sealed_ranges() {
    let guest = Services::new();
    let touch = guest.0.bind::<extern "C" fn(u64) -> i64>("touch").unwrap();
    let image = guest.0.base() + window::IMAGE;
    let constants = mappings(image, image + (1 << 20)).into_iter().find(|m| m.rights == "r--p");
    let constants = constants.expect("every module has constants").start - guest.0.base();
    for offset in
        [window::HEADER, window::GATE_TABLE, window::GATE_TABLE + 8, window::THUNKS, window::IMAGE, constants]
    {
        let error = touch.call(guest.0.base() + offset).expect_err("a write of a sealed page");
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Segv, "{offset:#x}: {error}");
    }
}

/// R3: with `seal`, the kernel itself refuses changes by anybody (Linux 6.10). Red if `write_header` does not seal.
#[test]
fn r3_sealed_domains_resist_the_host_itself() {
    let domain = services().domain_with(DomainOptions::new().seal(true));
    for offset in [window::HEADER, window::GATE_TABLE, window::THUNKS, window::IMAGE] {
        let flags = detail(domain.base() + offset, "VmFlags:");
        assert!(flags.contains("sl") || !kernel_seals(), "{offset:#x} is not sealed: {flags}");
    }
}

fn kernel_seals() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(10))
}

/// R3: the memory file behind code and constants takes no writes. Red without F_SEAL_WRITE in `Image::new`. (In a process of its own: other tests
/// may be about to seal theirs.)
#[test]
fn r3_the_module_file_is_sealed() {
    let output = crate::common::in_child("rules_memory::child_with_a_sealed_file");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by r3_the_module_file_is_sealed"]
fn child_with_a_sealed_file() {
    let _module = services().module();
    let mut found = 0;
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        if target.to_string_lossy().contains("lockgate-module") {
            found += 1;
            let file = std::fs::OpenOptions::new().write(true).open(entry.path()).unwrap();
            use std::os::unix::fs::FileExt;
            assert!(file.write_at(b"attack", 0x2000).is_err(), "the image can be written");
            assert!(file.set_len(0).is_err(), "the image can be cut");
            assert!(file.set_len(1 << 30).is_err(), "the image can be extended");
        }
    }
    assert!(found > 0);
}

/// R4: nothing but thunks and verified code is executable, whatever the module asks for. Red if a service passes
/// PROT_EXEC on, or data is mapped executable.
#[test]
fn r4_nothing_else_is_executable() {
    let guest = Services::new();
    for prot in [RX, 7] {
        assert!(guest.call("map", [0, PAGE as i64, prot.into(), 0]) < 0);
    }
    let page = guest.call("map", [0, PAGE as i64, RW.into(), 0]);
    assert!(guest.call("rights", [page, PAGE as i64, RX.into(), 0]) < 0);
    let start = guest.0.base();
    let text_end = start + window::IMAGE + guest.0.module().report().text_bytes;
    for mapping in mappings(start, start + window::STRIDE).into_iter().filter(|m| m.rights.contains('x')) {
        assert!(
            mapping.start >= start + window::THUNKS && mapping.end <= text_end.next_multiple_of(PAGE),
            "{mapping:x?}"
        );
        assert!(!mapping.rights.contains('w'), "{mapping:x?}");
    }
}

/// R4: a process in which data is executable is refused. Red without the check in `host::prepare`.
#[test]
fn r4_read_implies_exec_is_refused() {
    let output = in_child("rules_memory::child_opens_a_module");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("refused: ReadImpliesExec\nthen Err(false)"), "{output:?}");
}

#[test]
#[ignore = "run by r4_read_implies_exec_is_refused"]
fn child_opens_a_module() {
    host_sys::make_data_executable(true);
    match Module::from_bytes(b"") {
        Err(LoadError::Host(error @ HostError::ReadImpliesExec)) => println!("refused: {error:?}"),
        other => println!("not refused: {other:?}"),
    }
    // Not for good, if what was wrong no longer is.
    host_sys::make_data_executable(false);
    println!(
        "then {:?}",
        Module::from_bytes(b"").map(drop).map_err(|error| matches!(error, LoadError::Host(_)))
    );
}

/// R1: a reservation that the kernel does not make inaccessible again is no reservation.
#[test]
fn r1_a_reservation_that_stays_open_is_not_used() {
    let output = in_child("rules_memory::child_whose_reservation_stays_open");
    assert!(String::from_utf8_lossy(&output.stdout).contains("refused: "), "{output:?}");
}

#[test]
#[ignore = "run by r1_a_reservation_that_stays_open_is_not_used"]
fn child_whose_reservation_stays_open() {
    let module = services().module();
    host_sys::refuse_to_close();
    match Domain::new(&module, DomainOptions::new()) {
        Err(error) => println!("refused: {error}"),
        Ok(domain) => println!("{:?}", mappings(domain.base(), domain.base() + window::STRIDE)),
    }
}

/// R4: a process in which something lies at address zero is refused: a zero word would be a legal target of `ret`.
/// Red without the check in `host::prepare`, where the kernel lets anybody map that page (CAP_SYS_RAWIO).
#[test]
fn r4_a_mapped_page_zero_is_refused() {
    let output = in_child("rules_memory::child_maps_page_zero");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("refused: PageZero") || text.contains("the kernel forbids it"), "{output:?}");
}

#[test]
#[ignore = "run by r4_a_mapped_page_zero_is_refused"]
fn child_maps_page_zero() {
    if !host_sys::map_page_zero() {
        return println!("the kernel forbids it");
    }
    match Module::from_bytes(b"") {
        Err(LoadError::Host(error @ HostError::PageZero)) => println!("refused: {error:?}"),
        other => println!("not refused: {other:?}"),
    }
}

/// R5, R10: address space that another module gets holds nothing of the first: no return address, no code, no heap.
/// Red if `Stride::drop` keeps pages.
#[test]
fn r5_r10_strides_are_empty_when_used_again() {
    let source = "#include <stdlib.h>
        char *kept;
        int deep(int n) { volatile int v[16]; v[0] = n; kept = malloc(1 << 20); return n ? deep(n - 1) + v[0] : 0; }";
    let first = Guest::c(source).domain();
    first.bind::<extern "C" fn(i32) -> i32>("deep").unwrap().call(30).unwrap();
    let base = first.base();
    let used = |base: u64| {
        let top = base + window::CONTROL + stack::TOP;
        peek(top - 0x8000, 0x1000).map(|words| words.iter().filter(|w| **w != 0).count())
    };
    let accessible = |base: u64| -> Vec<(u64, String)> {
        let all = mappings(base, base + window::STRIDE).into_iter().filter(|m| m.accessible());
        all.map(|m| (m.start - base, m.rights)).collect()
    };
    let left = used(base).unwrap();
    let module = Guest::c("int other(void) { return 1; }").module();
    drop(first);
    // Other tests take strides, too: look for ours among a few.
    let domains: Vec<_> = (0..64).map(|_| Domain::new(&module, DomainOptions::new()).unwrap()).collect();
    assert!(domains.iter().any(|d| d.base() == base), "the stride is used again");
    let fresh = domains.iter().find(|d| d.base() != base).expect("another stride");
    assert!(left > used(fresh.base()).unwrap(), "the first module left return addresses: {left} words");
    assert_eq!(used(base), used(fresh.base()), "words of the first module are left");
    assert_eq!(accessible(base), accessible(fresh.base()), "memory of the first module is left");
}

/// R5: a domain cannot be reset while anybody could be inside. Red without the check in `Domain::reset`.
#[test]
fn r5_reset_needs_all_bindings_gone() {
    let mut domain = services().domain();
    let touch = domain.bind::<extern "C" fn(i64) -> i64>("touch").unwrap();
    assert!(matches!(domain.reset(), Err(ResetError::InUse(_))));
    drop(touch);
    domain.reset().unwrap();
}

/// R5: a reset leaves no return address on any control stack, of threads that are elsewhere now as well. Red if
/// `Core::empty` keeps the stacks.
#[test]
fn r5_a_reset_empties_the_control_stacks() {
    let source = "int deep(int n) { volatile int v[64]; v[0] = n; return n ? deep(n - 1) + v[0] : 0; }";
    let mut domain = Guest::c(source).domain();
    let used = |domain: &Domain| {
        [0, 1].map(|slot| {
            let top = domain.base() + window::CONTROL + slot * stack::SLOT + stack::TOP;
            peek(top - 0x8000, 0x1000).unwrap().into_iter().filter(|word| *word != 0).count()
        })
    };
    let fresh = used(&domain);
    let call = |domain: &Domain| {
        let deep = domain.bind::<extern "C" fn(i32) -> i32>("deep").unwrap();
        move || assert!(deep.call(500).unwrap() > 0)
    };
    call(&domain)();
    let second = call(&domain);
    let ((called, wait), (leave, left)) = (channel(), channel::<()>());
    let thread = std::thread::spawn(move || {
        second();
        drop(second);
        called.send(()).unwrap();
        left.recv().unwrap_err();
    });
    wait.recv().unwrap();
    assert!(used(&domain).into_iter().zip(fresh).all(|(used, fresh)| used > fresh + 20));
    domain.reset().unwrap();
    assert_eq!(used(&domain), fresh, "return addresses of before the reset are left");
    drop(leave);
    thread.join().unwrap();
}

/// R6: the kernel's own file systems are not granted. Red without the check in `Grants::directory`.
#[test]
fn r6_procfs_is_never_granted() {
    for path in ["/proc", "/proc/self", "/sys"] {
        assert!(Grants::default().directory("/x", path, Access::ReadOnly).is_err(), "{path} was granted");
    }
}

/// The memory limit holds, and what it refuses is an error inside, not a fault.
#[test]
fn the_memory_limit_holds() {
    let domain = services().domain_with(DomainOptions::new().memory_limit(8 << 20));
    let map = domain.bind::<extern "C" fn(i64, i64, i32, i32) -> i64>("map").unwrap();
    let mut got = 0;
    while map.call(0, 1 << 20, RW, 0).unwrap() > 0 {
        got += 1;
        assert!(got < 8, "more than the limit was given");
    }
    assert!(got >= 4 && domain.memory_used() <= 8 << 20);
    let error: CallError =
        domain.bind::<extern "C" fn(Pointer<u8>) -> i64>("touch").unwrap().call(Pointer::NULL).unwrap_err();
    assert!(error.fault().is_some());
}
