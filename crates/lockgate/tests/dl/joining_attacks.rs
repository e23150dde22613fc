//! Modules that join a domain and lie, and hosts that let them go too early. (Rule R26.)
use super::File;
use super::joining::{ALPHA, BASE, Files, ask, base_guest, files, joining_guest, open, open_into};
use crate::common::{Guest, mappings, watchdog};
use crate::dl::host_sys::{call, read_int, service};
use lockgate::dl::{self, DlError, JoinError, Library, Mode, Options};
use lockgate::{CreateError, Domain, DomainOptions, LoadError, Module};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn refused(path: &Path, base: Library) -> JoinError {
    match Library::open(path, Mode::NOW, &Options::default().into(base)) {
        Err(DlError::Join(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The same when nothing is open.
fn refused_alone(path: &Path) -> JoinError {
    match Library::open(path, Mode::NOW, &Options::default()) {
        Err(DlError::Join(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Replaces all `from` by `to`, of the same length, in a copy of a file.
fn forged(file: &Path, changes: &[(&str, &str)]) -> PathBuf {
    forged_as("forged.so", file, changes)
}

/// The same, under a name.
fn forged_as(name: &str, file: &Path, changes: &[(&str, &str)]) -> PathBuf {
    let mut bytes = std::fs::read(file).unwrap();
    for (from, to) in changes {
        assert_eq!(from.len(), to.len(), "{from} {to}");
        let places: Vec<usize> =
            (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from.as_bytes())).collect();
        assert!(!places.is_empty(), "{from} is nowhere");
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    let path = file.with_file_name(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A module that reads and writes zmm16 and a mask register, for processors that have them: it can ask.
const WIDE: &str = "
    function asks
        cpuid
        ret
    function wide
        vpxord %zmm16,%zmm16,%zmm16
        kxnorw %k1,%k1,%k1
        mov %rdi,%rax
        ret
";

/// Proxies of bindings that exist already leave alone what no code of the window could touch when they were made.
#[test]
fn a_module_with_a_wider_report_than_its_domains_is_refused() {
    let files = files();
    let path = files.base.beside("wide.so", Guest::assembly(WIDE).join(&[&files.base.path]));
    let base = files.base.open();
    let error = refused(&path, base);
    assert!(
        matches!(&error, JoinError::State { states, .. } if states.contains(&"zmm registers")),
        "{error}"
    );
    base.close().unwrap();
    let wide = Options::default().domain(DomainOptions::new().full_xstate(true));
    let base = files.base.open_with(Mode::NOW, &wide);
    let library = open_into(&path, base);
    if std::is_x86_feature_detected!("avx512f") {
        assert_eq!(ask(library, "wide", 42), 42);
    } else {
        support::skipped("a call of a library with AVX-512", "this processor lacks it");
    }
    library.close().unwrap();
    base.close().unwrap();
}

/// Gate 16 is the base's first import; 0 to 2, system calls and resume, are everybody's.
#[test]
fn gates_of_the_base_are_not_for_others() {
    let files = files();
    for (slot, is_allowed) in
        [(0, true), (1, true), (2, true), (3, false), (15, false), (16, false), (17, false), (511, false)]
    {
        let entry = 0x1_1000 + 8 * slot;
        let source = format!("function go\n call *%gs:{entry:#x}\n ret\n");
        let guest = Guest::assembly(&source).join(&[&files.base.path]);
        assert_eq!(guest.try_build().is_ok(), is_allowed, "gate {slot}");
    }
}

/// A page that is never mapped lies before each image, and behind the last one.
#[test]
fn no_label_lies_across_two_images() {
    let files = files();
    let base = files.base.open();
    let (alpha, beta) = (open_into(&files.alpha, base), open_into(&files.beta, base));
    let window = base.object("shared").unwrap().address & !0xffff_ffff;
    // From the image of the base to the heap of the domain.
    let mapped: Vec<_> = mappings(window + 0x1_2000, window + 0x4000_0000);
    let starts: Vec<_> = mapped.iter().enumerate().filter(|(_, m)| m.rights.contains('x')).collect();
    assert_eq!(starts.len(), 3, "three images: {mapped:x?}");
    for (index, code) in starts.iter().skip(1) {
        let before = &mapped[index - 1];
        let gap = if before.accessible() { code.start - before.end } else { before.end - before.start };
        assert!(gap >= 4096, "{before:x?} {code:x?}");
    }
    assert!(mapped.iter().all(|mapping| !(mapping.rights.contains('x') && mapping.rights.contains('w'))));
    for library in [beta, alpha, base] {
        library.close().unwrap();
    }
}

const SERVICES: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
static long answer(long failed) { return failed ? -errno : 0; }
static void *page(long at) { return (void *)(at & -4096); }
long protect(long at) { return answer(mprotect(page(at), 4096, PROT_READ | PROT_WRITE)); }
long unmap(long at) { return answer(munmap(page(at), 4096)); }
long map(long at) { return answer(mmap(page(at), 4096, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED); }
long map_quietly(long at) { return answer(mmap(page(at), 4096, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED); }
long move_away(long at) { return answer(mremap(page(at), 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED); }
long move_over(long at) {
    char *own = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return answer(mremap(own, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, page(at)) == MAP_FAILED);
}
long forget(long at) { return answer(madvise(page(at), 4096, MADV_DONTNEED)); }
long grow(long at) { return answer(brk((void *)at)); }
"#;

/// Memory services of the domain keep off the images of modules that joined, their gaps, and the room for more (rule R3).
#[test]
fn memory_services_keep_off_all_images() {
    let base = File::new("services.so", base_guest(&(BASE.to_owned() + SERVICES)));
    let alpha = base.beside("alpha.so", joining_guest(ALPHA, &[&base.path]));
    let base = base.open();
    let alpha = open_into(&alpha, base);
    let data = alpha.object("alpha_data").unwrap().address;
    let mapped = mappings(data & !0xffff_ffff, data + 1);
    let code = mapped.iter().rfind(|mapping| mapping.rights.contains('x')).expect("its code").start;
    for (what, at) in [
        ("code", code),
        ("constants", code + 0x1000),
        ("data", data),
        ("gap", code - 1),
        ("room", data + 0x10_0000),
    ] {
        for attack in ["protect", "unmap", "map", "map_quietly", "move_away", "move_over", "forget", "grow"] {
            let answer = ask(base, attack, at as i64);
            let is_refused = answer < 0;
            assert!(is_refused, "{attack} of {what} at {at:#x}: {answer}");
        }
    }
    assert_eq!(ask(alpha, "sum", 37), 42);
    alpha.close().unwrap();
    base.close().unwrap();
}

/// The library that a service closes while it is inside.
static INSIDE: Mutex<Option<Library>> = Mutex::new(None);

extern "C" fn close_inside(x: i64) -> i64 {
    if let Some(library) = INSIDE.lock().unwrap().take() {
        library.close().expect("it is open");
    }
    x
}

/// Code stays where it is as long as somebody can return to it, and nothing else ever comes there (rule R5).
#[test]
fn closing_leaves_return_addresses_good() {
    let files = files();
    dl::provide(service("long close_inside(long)", close_inside as *const ()));
    let source = "long close_inside(long); void set_function(long (*)(long));
        static long leaves(long x) { long before = x * 3; return (x == 10 ? close_inside(before) : before) + x; }
        long give_leaves(long unused) { set_function(leaves); return 0; }
        int leaving_data = 1;";
    let guest = joining_guest(source, &[&files.base.path]).gate("long close_inside(long)");
    let path = files.base.beside("leaving.so", guest);
    let base = files.base.open();
    let leaving = open_into(&path, base);
    let place = leaving.object("leaving_data").unwrap().address;
    ask(leaving, "give_leaves", 0);
    *INSIDE.lock().unwrap() = Some(leaving);
    // Base, module, host, which closes the module; and all the way back.
    assert_eq!(ask(base, "apply", 10), 40);
    assert!(INSIDE.lock().unwrap().is_none() && leaving.name().is_err(), "it was closed");
    assert_eq!(ask(base, "apply", 20), 80, "the base has a pointer still");
    let alpha = open_into(&files.alpha, base);
    assert!(alpha.object("alpha_data").unwrap().address > place, "another module has another place");
    assert_eq!(ask(base, "apply", 30), 120);
    for library in [alpha, base] {
        library.close().unwrap();
    }
}

/// Calls of a library's own functions that are in progress end when it is closed.
#[test]
fn closing_ends_calls_in_progress() {
    let _watchdog = watchdog("a call in a library that was closed");
    let files = files();
    let source = "volatile long running, stop; long run(long x) { running = 1; while (!stop) {} return x; }";
    let path = files.base.beside("running.so", joining_guest(source, &[&files.base.path]));
    let base = files.base.open();
    let library = open_into(&path, base);
    let (run, running) =
        (library.function("run").unwrap() as usize, library.object("running").unwrap().address);
    std::thread::scope(|scope| {
        let caller = scope.spawn(move || {
            let result = call(run as *const (), 1);
            (result, dl::take_failure().map(|failure| failure.to_string()))
        });
        while crate::dl::host_sys::read_int(running) == 0 {
            std::thread::yield_now();
        }
        library.close().unwrap();
        let (result, failure) = caller.join().unwrap();
        assert_eq!(result, -1, "{failure:?}");
    });
    assert_eq!(ask(base, "add", 0) >> 62, 0, "the domain lives on");
    base.close().unwrap();
}

/// Modules come and go in a domain that threads are running in, through its base and through the modules themselves.
#[test]
fn calls_race_with_joining() {
    let _watchdog = watchdog("calls that race with joining");
    let files = files();
    let base = files.base.open();
    let of_base = base.function("last_errno").unwrap() as usize;
    let done = AtomicBool::new(false);
    let pointer = {
        let alpha = open_into(&files.alpha, base);
        let sum = alpha.function("sum").unwrap() as usize;
        alpha.close().unwrap();
        sum
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(call(of_base as *const (), 0) != -1, "{:?}", dl::take_failure());
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let result = call(pointer as *const (), 37);
                    assert!(result == 42 || result == -1, "{result}");
                }
            });
        }
        for _ in 0..60 {
            let alpha = open_into(&files.alpha, base);
            let sum = alpha.function("sum").unwrap();
            assert_eq!((sum as usize, call(sum, 1)), (pointer, 6));
            alpha.close().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    dl::take_failure();
    base.close().unwrap();
}

/// Names and types are looked up in what is there, whatever the module says.
#[test]
fn forged_words_are_refused() {
    let files = files();
    let base = files.base.open();
    let absent = forged(&files.alpha, &[("set_function", "set_fumction")]);
    assert!(matches!(refused(&absent, base), JoinError::Symbol { symbol, .. } if symbol == "set_fumction"));
    for (name, from, to) in [
        ("add", "module long int add(long int, long int)", "module long int add(double  , long int)"),
        ("keep", "module long int keep(char *)", "module long int keep(double)"),
    ] {
        let other = forged(&files.alpha, &[(from, to)]);
        assert!(matches!(refused(&other, base), JoinError::Type { symbol, .. } if symbol == name), "{name}");
    }
    // Functions of the host by names of the base's: they are looked up among services.
    let of_host =
        forged(&files.alpha, &[("module long int note(long int)", "host long   int note(long int)")]);
    let error = Library::open(&of_host, Mode::NOW, &Options::default().into(base));
    assert!(matches!(error, Err(DlError::Imports { .. })), "{error:?}");
    base.close().unwrap();
}

/// Structures and constants have no types that anybody could compare, so it must be the very file.
#[test]
fn another_build_of_the_base_is_refused() {
    let files = files();
    let other = File::new("base.so", base_guest(&BASE.replace("shared = 5", "shared = 6")));
    let base = other.open();
    let error = Library::open(&files.alpha, Mode::NOW, &Options::default().into(base));
    assert!(
        matches!(&error, Err(DlError::Join(JoinError::Other { other, .. })) if other == "base.so"),
        "{error:?}"
    );
    base.close().unwrap();
    // The other build lies in place of the one that was linked with.
    std::fs::copy(&other.path, &files.base.path).unwrap();
    assert!(matches!(refused_alone(&files.alpha), JoinError::Other { .. }));
    assert!(matches!(
        Library::open(&other.path, Mode { only_if_open: true, ..Mode::NOW }, &Options::default()),
        Err(DlError::NotOpen(_))
    ));
}

/// Another file where one lies that was linked with: it is known before anything of it runs in the domain, which is others', too.
#[test]
fn what_lies_in_place_of_another_does_not_run() {
    let files = files();
    let base = files.base.open();
    files.base.beside("alpha.so", joining_guest(&ALPHA.replace("note(1)", "note(7)"), &[&files.base.path]));
    let error = refused(&files.beta, base);
    assert!(matches!(&error, JoinError::Other { other, .. } if other == "alpha.so"), "{error:?}");
    assert_eq!(
        ask(base, "noted", 0),
        0,
        "its constructor, and its destructor, would have noted that they ran"
    );
    base.close().unwrap();
}

/// What lies there is not even judged: that takes much longer than reading, and what is not what was linked with is of no use.
#[test]
fn what_lies_in_place_of_another_is_not_judged() {
    let files = files();
    let base = files.base.open();
    std::fs::write(&files.alpha, "no module at all").unwrap();
    let error = refused(&files.beta, base);
    assert!(matches!(&error, JoinError::Other { other, .. } if other == "alpha.so"), "{error:?}");
    // Files that are read for one module are together no larger than one may be, whatever it names.
    std::fs::File::create(&files.alpha).unwrap().set_len(1 << 30).unwrap();
    let error = refused(&files.beta, base);
    assert!(matches!(&error, JoinError::TooMuch { other, .. } if other == "alpha.so"), "{error:?}");
    base.close().unwrap();
}

/// What is missing is known before anything runs. Red if the base's constructors run for a library that cannot be opened.
#[test]
fn nothing_runs_for_a_module_that_lacks_another() {
    static RUN: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn host_runs(x: i64) -> i64 {
        RUN.fetch_add(1, Ordering::SeqCst);
        x
    }
    let runs = "long host_runs(long); __attribute__((constructor)) static void begin(void) { host_runs(1); }";
    let base = format!("{runs} long of_base(long x) {{ return x + 1; }}");
    let base = File::new("counting.so", base_guest(&base).gate("long host_runs(long)"));
    let joining = |name: &str, source: &str, modules: &[&Path]| {
        base.beside(name, joining_guest(&format!("{runs} {source}"), modules).gate("long host_runs(long)"))
    };
    let first = "long of_base(long); long of_first(long x) { return of_base(x); }";
    let first = joining("first.so", first, &[&base.path]);
    let second = "long of_first(long); long of_second(long x) { return of_first(x); }";
    let second = joining("second.so", second, &[&base.path, &first]);
    let third = "long of_second(long); long of_third(long x) { return of_second(x); }";
    let third = joining("third.so", third, &[&base.path, &second]);
    dl::provide(service("long host_runs(long)", host_runs as *const ()));
    let kept = std::fs::read(&first).unwrap();
    std::fs::remove_file(&first).unwrap();
    for path in [&second, &third] {
        Library::open(path, Mode::NOW, &Options::default()).expect_err("first.so is not there");
        assert_eq!(RUN.load(Ordering::SeqCst), 0);
    }
    let opened = base.open();
    assert_eq!(RUN.swap(0, Ordering::SeqCst), 1);
    Library::open(&third, Mode::NOW, &Options::default().into(opened)).expect_err("first.so is not there");
    assert_eq!(RUN.load(Ordering::SeqCst), 0);
    // What is open does not have to be found once more.
    std::fs::write(&first, kept).unwrap();
    let joined = open_into(&first, opened);
    std::fs::remove_file(&first).unwrap();
    let last = open_into(&third, opened);
    assert_eq!((ask(last, "of_third", 1), RUN.load(Ordering::SeqCst)), (2, 3));
    [last, joined, opened].into_iter().for_each(|library| library.close().unwrap());
}

/// The flag is the base's word that all of libc is there, and that its memory begins above the room for others.
#[test]
fn a_module_that_is_no_base_is_not_joined() {
    let Files { base, alpha, .. } = files();
    let mut bytes = std::fs::read(&base.path).unwrap();
    let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
    let before = hash(&bytes);
    // The ABI note: 8 bytes of type 1, whose owner is Lockgate; the version, flags 2.
    let version = lockgate_abi::ABI_VERSION.to_le_bytes();
    let note = [&[1, 0, 0, 0][..], b"Lockgate\0\0\0\0", &version, &[2, 0, 0, 0]].concat();
    let at = bytes.windows(note.len()).position(|window| window == note).expect("the note") + note.len() - 4;
    bytes[at] = 0;
    std::fs::write(&base.path, &bytes).unwrap();
    let forged = forged(&alpha, &[(&before, &hash(&bytes))]);
    assert!(matches!(refused_alone(&forged), JoinError::NotABase(_)));
}

#[test]
fn a_module_that_joins_is_no_domain_of_its_own() {
    let files = files();
    let module = Module::open(&files.alpha).unwrap();
    assert!(
        matches!(Domain::new(&module, DomainOptions::new()), Err(CreateError::Joins { base, .. }) if base == "base.so")
    );
    let base = files.base.open();
    let ordinary = File::c("ordinary.so", "long f(long x) { return x; }");
    let error = Library::open(&ordinary.path, Mode::NOW, &Options::default().into(base));
    assert!(matches!(error, Err(DlError::Join(JoinError::NotJoining(_)))), "{error:?}");
    base.close().unwrap();
    assert!(matches!(
        Library::open(&files.alpha, Mode::NOW, &Options::default().into(base)),
        Err(DlError::Handle)
    ));
}

/// Images count against the domain's memory.
#[test]
fn images_are_within_the_quota() {
    let base = File::new("base.so", base_guest(BASE));
    let source = "char large[24 << 20] = {1}; long f(long x) { return large[x]; }";
    let paths = ["one.so", "two.so", "three.so"].map(|name| {
        let guest = joining_guest(&(source.to_owned() + &format!("int {}_data;", &name[..3])), &[&base.path]);
        base.beside(name, guest)
    });
    let base = base.open();
    let results = paths.map(|path| Library::open(path, Mode::NOW, &Options::default().into(base)));
    assert!(results[0].is_ok() && results[1].is_ok(), "two of 24 MiB fit in 64: {results:?}");
    assert!(matches!(&results[2], Err(DlError::Join(JoinError::Memory { .. }))), "{:?}", results[2]);
    base.close().unwrap();
}

/// Modules that need modules that need modules: each is opened while the one before waits for it.
#[test]
fn long_chains_of_modules_are_refused() {
    let files = files();
    let hash = |path: &Path| blake3::hash(&std::fs::read(path).unwrap()).to_hex().to_string();
    let (mut name, mut last) = ("alpha.so".to_owned(), files.alpha.clone());
    let of_alpha = hash(&files.alpha);
    for number in 0..70 {
        let next = format!("m{number:04}.so");
        let changes = [(&*of_alpha, &*hash(&last)), ("alpha.so", &*name)];
        last = forged_as(&next, &files.beta, &changes);
        name = next;
    }
    let error = refused_alone(&last);
    assert!(matches!(error, JoinError::TooDeep(_)), "{error}");
    let base = files.base.open();
    assert!(
        matches!(Library::open(&files.base.path, Mode { only_if_open: true, ..Mode::NOW }, &Options::default()), Ok(it) if it == base)
    );
    base.close().unwrap();
    base.close().unwrap();
    assert!(base.name().is_err(), "nothing of the chain holds it");
}

/// A file that is no module at all is refused before anything of the domain is touched.
#[test]
fn damaged_modules_do_not_join() {
    let files = files();
    let base = files.base.open();
    let mut bytes = std::fs::read(&files.alpha).unwrap();
    let label = [0xf3, 0x0f, 0x1e, 0xfa];
    let at = bytes.windows(4).position(|window| window == label).expect("a label");
    bytes[at..at + 4].copy_from_slice(&[0x0f, 0x05, 0x90, 0x90]);
    let path = files.alpha.with_file_name("damaged.so");
    std::fs::write(&path, bytes).unwrap();
    let error = Library::open(&path, Mode::NOW, &Options::default().into(base));
    assert!(matches!(error, Err(DlError::Load(LoadError::Rejected { .. }))), "{error:?}");
    let alpha = open_into(&files.alpha, base);
    assert_eq!(ask(alpha, "sum", 37), 42);
    alpha.close().unwrap();
    base.close().unwrap();
}

/// `perf` wants code in anonymous memory, which somebody has to write first. Other threads run meanwhile.
#[test]
fn code_that_joins_is_never_writable() {
    let mut command = crate::common::own_test("dl::joining_attacks::joined_code_for_perf");
    let output =
        command.arg("--ignored").env("LOCKGATE_PERF_MAP", "1").output().expect("the test program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "in a process of its own, by `code_that_joins_is_never_writable`"]
fn joined_code_for_perf() {
    let files = files();
    let base = files.base.open();
    let alpha = open_into(&files.alpha, base);
    let window = alpha.object("alpha_data").unwrap().address & !0xffff_ffff;
    let code: Vec<_> =
        mappings(window, window + 0x4000_0000).into_iter().filter(|m| m.rights.contains('x')).collect();
    let files: Vec<_> = code.iter().map(|mapping| mapping.path.contains("memfd")).collect();
    assert_eq!(files, [false, true], "{code:x?}");
    alpha.close().unwrap();
    base.close().unwrap();
    let _ = std::fs::remove_file(format!("/tmp/perf-{}.map", std::process::id()));
}

/// Else a hostile file, opened for what it offers, would be inside a library that trusts nobody.
#[test]
fn a_file_does_not_choose_whose_memory_it_shares() {
    let files = files();
    let base = files.base.open();
    let error = Library::open(&files.alpha, Mode::NOW, &Options::default());
    assert!(matches!(error, Err(DlError::Join(JoinError::Uninvited { .. }))), "{error:?}");
    base.close().unwrap();
    let alpha = open(&files.alpha);
    open_into(&files.beta, alpha).close().unwrap();
    alpha.close().unwrap();
}

/// Else a hostile plugin that is opened first would have the memory of the base that the host opens later for others.
#[test]
fn what_was_opened_for_a_module_is_that_modules_alone() {
    let files = files();
    let beta = open(&files.beta);
    let not_loaded = Mode { only_if_open: true, ..Mode::NOW };
    for path in [&files.base.path, &files.alpha] {
        let error = Library::open(path, not_loaded, &Options::default());
        assert!(matches!(error, Err(DlError::NotOpen(_))), "{error:?}");
    }
    let shared = |library: Library| library.object("shared").unwrap().address;
    let base = files.base.open();
    let own = open_into(&files.base.path, beta);
    assert_ne!(shared(base), shared(own), "the host's base is another one");
    base.write(shared(base), &100_i32.to_le_bytes()).unwrap();
    assert_eq!(read_int(shared(own)), 5);
    let alpha = open_into(&files.alpha, base);
    assert_eq!(ask(alpha, "sum", 1), 101);
    assert_eq!(ask(open_into(&files.alpha, beta), "sum", 1), 6, "beta's own");
    // Another module of the same base is neither refused nor let in.
    for library in [alpha, base] {
        library.close().unwrap();
    }
    let second = open(&files.alpha);
    assert_eq!(ask(second, "sum", 1), 6);
    assert!(Library::of_address(second.object("alpha_data").unwrap().address) == Some(second));
    own.write(shared(own), &7_i32.to_le_bytes()).unwrap();
    assert_eq!(ask(second, "sum", 1), 6);
    for library in [second, own, beta] {
        library.close().unwrap();
    }
}
