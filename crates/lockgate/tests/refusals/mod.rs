//! Nothing that can fail runs over the reservation (rule R1, P5): whatever the kernel or a file system refuses, all of a stride is mapped
//! after every step, and what is nobody's is inaccessible.
mod fuse_sys;
mod kernel_sys;

use crate::common::{Guest, mappings, own_test};
use kernel_sys::Manner;
use lockgate::syscall::{Access, Grants};
use lockgate::{Domain, DomainOptions, Module, Region, Rights};
use lockgate_abi::{PAGE, window};
use std::sync::Arc;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define AT(p) ((void *)(p))
#define IS(p) ((p) == MAP_FAILED ? -errno : (long)(p))
long map(long at, long n, long rights) { return IS(mmap(AT(at), n, rights, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0)); }
long unmap(long at, long n) { return munmap(AT(at), n) ? -errno : 0; }
long rights(long at, long n, long rights) { return mprotect(AT(at), n, rights) ? -errno : 0; }
long forget(long at, long n) { return madvise(AT(at), n, MADV_DONTNEED) ? -errno : 0; }
long grow(long at, long n, long m) { return IS(mremap(AT(at), n, m, MREMAP_MAYMOVE)); }
long heap(long by) { long now = syscall(SYS_brk, 0); return syscall(SYS_brk, now + by); }
long touch(long at) { return ++*(volatile long *)at; }
static long open_and_map(const char *path, long at, long n, long shared) {
    int fd = open(path, O_RDWR);
    if (fd < 0) return -errno;
    void *p = mmap(AT(at), n, PROT_READ | PROT_WRITE, (shared ? MAP_SHARED : MAP_PRIVATE) | (at ? MAP_FIXED : 0), fd, 0);
    long done = IS(p);
    close(fd);
    return done;
}
long file(long at, long n, long shared) { return open_and_map("/data/file", at, n, shared); }
long the_file(long at, long n, long shared) { return open_and_map("/data/f", at, n, shared); }
"#;

const RW: i64 = 3;
const SIZE: i64 = 24 * PAGE as i64;
const SOME: i64 = PAGE as i64;
/// Larger than what is kept for a domain's next request.
const LARGE: i64 = 5 << 20;

/// What a function of the guest says; `None` if its call failed.
fn call(domain: &Domain, name: &str, [a, b, c]: [i64; 3]) -> Option<i64> {
    let function = domain.bind::<extern "C" fn(i64, i64, i64) -> i64>(name).expect("an export");
    function.call(a, b, c).ok()
}

/// All of each stride is mapped.
fn whole(bases: &[u64], step: &str) {
    // (Read once for all of them: it is a good part of what these tests take.)
    let all = mappings(0, u64::MAX);
    for base in bases {
        let end = base + window::STRIDE;
        let mut covered = *base;
        for mapping in all.iter().filter(|mapping| mapping.end > *base && mapping.start < end) {
            assert!(mapping.start <= covered, "{step}: a hole at {:#x}, before {mapping:x?}", covered - base);
            covered = mapping.end;
        }
        assert!(covered >= end, "{step}: a hole at {:#x}", covered - base);
    }
}

/// Everything that changes what is mapped in strides, step by step. `after` looks at the strides of all domains that there are and, with
/// `after_the_end`, that there have been.
fn script(
    module: &Arc<Module>,
    options: impl Fn() -> DomainOptions,
    first: Domain,
    after_the_end: bool,
    after: impl Fn(&[u64], &str),
) {
    let mut bases = vec![first.base()];
    let mut first = first;
    let look = |bases: &[u64], step: &str| after(bases, step);
    for round in ["first", "reset"] {
        let does = |name: &str, arguments: [i64; 3]| {
            let result = call(&first, name, arguments);
            look(&bases, &format!("{round}: {name} {arguments:x?}"));
            result.filter(|result| !(-4095..0).contains(result))
        };
        does("heap", [SIZE, 0, 0]);
        does("heap", [-2 * SOME, 0, 0]);
        if let Some(at) = does("map", [0, LARGE, RW]) {
            does("touch", [at + SOME, 0, 0]);
            does("map", [at, SIZE, RW]);
            does("map", [at + SOME, SOME, 1]);
            does("map", [at + 3 * SOME, SOME, 0]);
            does("rights", [at, SOME, 0]);
            does("rights", [at, SIZE, RW]);
            does("file", [at + 4 * SOME, 4 * SOME, 1]);
            does("touch", [at + 4 * SOME, 0, 0]);
            does("file", [at + 6 * SOME, 4 * SOME, 1]);
            does("map", [at + 5 * SOME, SOME, RW]);
            does("unmap", [at + 6 * SOME, SOME, 0]);
            does("forget", [at, SIZE, 0]);
            does("map", [at + LARGE, SOME, 1]);
            // It cannot grow where it is.
            does("rights", [at, LARGE, 1]);
            does("grow", [at, LARGE, 2 * LARGE]);
            does("unmap", [at, LARGE, 0]);
        }
        if let Some(at) = does("file", [0, SIZE, 1]) {
            does("unmap", [at, SIZE, 0]);
        }
        if let Some(at) = does("file", [0, SIZE, 0]) {
            does("unmap", [at, SOME, 0]);
        }
        let host = kernel_sys::shared_memory(4 * PAGE as usize);
        for region in
            [Region::new(3 * PAGE).ok(), kernel_sys::region(host, 4 * PAGE).ok()].into_iter().flatten()
        {
            let grant = first.grant(&region, Rights::ReadWrite);
            look(&bases, "grant");
            if let Ok(grant) = grant {
                let _ = grant.downgrade(Rights::Read);
                look(&bases, "downgrade");
                grant.revoke();
                look(&bases, "revoke");
            }
        }
        // Where the kernel refuses, domains that are idle come to rest, and wake when they are called.
        let second = Domain::new(module, options());
        bases.extend(second.as_ref().map(Domain::base));
        look(&bases, "another domain");
        call(&first, "touch", [0; 3]);
        look(&bases, "a call");
        if let Ok(second) = second {
            call(&second, "map", [0, LARGE, RW]);
            look(&bases, "its call");
            drop(second);
            if !after_the_end {
                bases.pop();
            }
            look(&bases, "its end");
        }
        std::thread::scope(|scope| {
            scope.spawn(|| call(&first, "heap", [SOME, 0, 0]));
        });
        look(&bases, "another thread");
        let _ = first.reset();
        look(&bases, "a reset");
    }
    drop(first);
    if after_the_end {
        look(&bases, "the end");
    }
}

const CHILD: &str = "refusals::child_whose_kernel_refuses";

/// Runs the script with the `n`-th change refused, in a process of its own; the system call that was, `None` if there are no `n`.
fn with_refusal(folder: &std::path::Path, n: u32, again: u32, manner: Manner) -> Option<String> {
    let mut command = own_test(CHILD);
    command.args(["--ignored", "--nocapture"]);
    command.env("REFUSE", format!("{n} {again} {}", u8::from(manner == Manner::Emptied)));
    let output = command.env("FOLDER", folder).output().expect("the test program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().find_map(|line| line.split_once("refused: ")).map(|(_, calls)| calls.to_owned());
    let errors = String::from_utf8_lossy(&output.stderr);
    // Two refusals in a row leave nothing but this; one never does.
    let gave_up = again > 0 && errors.contains("ending the process");
    assert!(
        output.status.success() || gave_up,
        "refusal {n}, {again} later again, {manner:?}: {text}\n{errors}"
    );
    said.or(gave_up.then(|| "given up".to_owned()))
}

fn refuse_each(again: u32, manner: Manner) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("guest.lg"), Guest::c_with(SOURCE, &["-O1"]).build()).unwrap();
    let mut refused = std::collections::BTreeMap::<String, u32>::new();
    let part = support::Part::one_in(6, format_args!("refusals, {again} later again, {manner:?}"));
    for n in (1..).filter(|n| part.has(*n as usize)) {
        let Some(calls) = with_refusal(folder.path(), n, again, manner) else { break };
        *refused.entry(calls).or_default() += 1;
    }
    println!("{refused:?}");
    assert!(refused.values().sum::<u32>() > 30, "hardly anything was refused: {refused:?}");
    // mmap, mprotect, mremap, madvise: some are few.
    for number in if support::thorough() { &[9, 10, 25, 28][..] } else { &[10, 28] } {
        let first = format!("{number} ");
        assert!(
            refused.keys().any(|calls| calls.starts_with(&first)),
            "system call {number} is never refused: {refused:?}"
        );
    }
}

/// Red if a change of a stride can fail without anybody looking what is there then.
#[test]
fn r1_no_refusal_leaves_a_hole() {
    refuse_each(0, Manner::Untouched);
}

/// The same with a kernel that empties first. Red if `Stride::refused` fills nothing.
#[test]
fn r1_no_refusal_leaves_what_the_kernel_has_emptied() {
    refuse_each(0, Manner::Emptied);
}

/// A second refusal while the first is dealt with. Red if a place that cannot be filled is left as it is.
#[test]
fn r1_a_second_refusal_leaves_no_hole_or_no_process() {
    refuse_each(1, Manner::Emptied);
    refuse_each(2, Manner::Untouched);
}

#[test]
#[ignore = "run by those above"]
fn child_whose_kernel_refuses() {
    let Ok(order) = std::env::var("REFUSE") else { return };
    let folder = std::path::PathBuf::from(std::env::var_os("FOLDER").expect("set together"));
    let order: Vec<u32> = order.split(' ').map(|word| word.parse().expect("a number")).collect();
    let &[n, again, empties] = &order[..] else { panic!("three numbers") };
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("file"), vec![1; 2 * SIZE as usize]).unwrap();
    let module = Module::open(folder.join("guest.lg")).expect("a module");
    let options = || {
        let grants = Grants::default().directory("/data", data.path(), Access::ReadWrite).unwrap();
        DomainOptions::new().memory_limit(1 << 30).grants(grants)
    };
    let first = Domain::new(&module, options()).expect("nothing is refused yet");
    call(&first, "touch", [0; 3]);
    // All strides of one reservation: the first domain gets the lowest.
    let reservation = first.base()..first.base() + 16 * window::STRIDE;
    let manner = if empties != 0 { Manner::Emptied } else { Manner::Untouched };
    kernel_sys::refuse(reservation, n, again, manner);
    // After a second refusal a stride may be lost, but is never used again.
    script(&module, options, first, again == 0, whole);
    if let Some((first, last)) = kernel_sys::relent() {
        println!("refused: {first} {last}");
    }
    // What went on after that is as good as new.
    let domain = Domain::new(&module, options()).expect("nothing is refused any more");
    let at = call(&domain, "map", [0, LARGE, RW]).expect("a call");
    assert_eq!(call(&domain, "touch", [at + SOME, 0, 0]), Some(1));
}

/// A file system of somebody's process, beneath a directory that is granted: whatever it refuses, and whatever it is asked. Red if a file is
/// mapped over the reservation, or if files of any file system are.
#[test]
fn r1_a_file_system_that_refuses_leaves_no_hole() {
    let guest = Guest::c_with(SOURCE, &["-O1"]).module();
    let folder = tempfile::tempdir().unwrap();
    match fuse_sys::mount(folder.path()) {
        Ok(_) => fuse_sys::unmount(folder.path()),
        Err(error) => {
            support::skipped(
                "r1_a_file_system_that_refuses_leaves_no_hole",
                format_args!("no FUSE file system can be mounted here: {error}"),
            );
            return;
        }
    }
    use fuse_sys::{ACCESS, FLUSH, GETATTR, LOOKUP, OPEN, READ, RELEASE, SETATTR, STATFS, WRITE};
    let mut opened = 0;
    for refused in [0, LOOKUP, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH, ACCESS] {
        for direct in [false, true] {
            let served = Served::new(folder.path(), refused, direct);
            let grants = Grants::default().directory("/data", folder.path(), Access::ReadWrite);
            if let Ok(grants) = grants {
                let options = DomainOptions::new().memory_limit(1 << 30).grants(grants);
                let domain = Domain::new(&guest, options).expect("a domain");
                let name = format!("operation {refused} refused, direct: {direct}");
                let step = |function: &str, arguments: [i64; 3]| {
                    let result = call(&domain, function, arguments);
                    whole(&[domain.base()], &format!("{name}: {function} {arguments:x?}"));
                    result.expect("the call itself ends well")
                };
                let at = step("map", [0, LARGE, RW]);
                assert_eq!(step("touch", [at, 0, 0]), 1);
                for (at, shared) in
                    [(at, 1), (0, 1), (at + SOME, 1), (at + LARGE / 2 / SOME * SOME, 0), (0, 0)]
                {
                    let mapped = step("the_file", [at, SIZE, shared]);
                    assert!(shared == 0 || (-4095..0).contains(&mapped), "{name}: mapped, shared");
                    opened += u32::from(mapped == i64::from(-libc::ENODEV));
                }
                assert_eq!(
                    step("touch", [at, 0, 0]),
                    2,
                    "{name}: what a refused mapping was to replace is there still"
                );
                step("unmap", [at, LARGE, 0]);
            }
            if let Ok(file) = std::fs::File::open(folder.path().join("f")) {
                let region = Region::from_file(&file, 0, PAGE, Rights::Read);
                assert!(region.is_err(), "a region of a file that somebody's process serves");
            }
            drop(served);
        }
    }
    assert!(opened > 10, "hardly a file was ever opened: {opened}");
}

/// The file system, and the process that serves it.
struct Served<'a> {
    folder: &'a std::path::Path,
    server: std::process::Child,
}

impl<'a> Served<'a> {
    fn new(folder: &'a std::path::Path, refused: u32, direct: bool) -> Served<'a> {
        let device = fuse_sys::mount(folder).expect("it could be mounted before");
        let mut command = own_test("refusals::child_that_serves_files");
        command.args(["--ignored", "--nocapture"]);
        command.env("SERVE", format!("{refused} {}", u8::from(direct))).stdout(std::process::Stdio::null());
        let server = command.stdin(device).spawn().expect("the test program runs");
        Served { folder, server }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        fuse_sys::unmount(self.folder);
        self.server.kill().expect("it is ours");
        self.server.wait().expect("it ends");
    }
}

#[test]
#[ignore = "run by r1_a_file_system_that_refuses_leaves_no_hole"]
fn child_that_serves_files() {
    use std::os::fd::AsFd;
    let Ok(order) = std::env::var("SERVE") else { return };
    let (refused, direct) = order.split_once(' ').expect("two numbers");
    let device = std::io::stdin().as_fd().try_clone_to_owned().expect("a descriptor");
    fuse_sys::serve(device.into(), refused.parse().expect("a number"), direct == "1");
}
