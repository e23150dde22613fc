//! Rust inside a domain: `lockgate cargo`, the crate lockgate-guest, and what std does there.
//!
//! The target's std is rustup's (`rustup target add x86_64-unknown-linux-musl`); where it is not, each test says so and does nothing.

use crate::common::{Shop, in_time, text};
use lockgate::grant::{Grant, Region, Rights, Ring};
use lockgate::{Domain, DomainOptions, FaultKind, HostFunction, Module, Pointer};
use lockgate_bench::command::done;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TARGET: &str = "x86_64-unknown-linux-musl";

const WORDS_SOURCE: &str = include_str!("cargo/words.rs");
const PLAIN: &str = include_str!("cargo/plain_sys.rs");
const PROGRAM: &str = include_str!("cargo/program.rs");
const ENDED: &str = include_str!("cargo/ended.rs");
const NEAR: &str = include_str!("cargo/near_sys.rs");
const ABORTS: &str = "fn main() {\n    println!(\"{}\", 42);\n    panic!(\"{}\", \"at the end\");\n}\n";

/// What Cargo of the tests' own has set, which another one would take.
pub const CARGOS: &[&str] =
    &["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET", "RUST_BACKTRACE"];

/// Whether there is a std for the target. If not, says that a test is left out.
pub fn can_build(test: &str) -> bool {
    can_build_with(test, &[])
}

/// The same of what `version` says to rustup's `rustc`.
fn can_build_with(test: &str, version: &[&str]) -> bool {
    let output =
        Command::new("rustc").args(version).args(["--print", "target-libdir", "--target", TARGET]).output();
    // (A version that rustup does not have is an error; without one there is only a compiler that fails.)
    if let (Ok(output), []) = (&output, version) {
        assert!(output.status.success(), "rustc: {}", text(&output.stderr));
    }
    let folder = output.ok().filter(|output| output.status.success()).map(|output| text(&output.stdout));
    let there = folder.is_some_and(|folder| Path::new(folder.trim()).is_dir());
    if !there {
        let rustc = ["rustc"].iter().chain(version).copied().collect::<Vec<_>>().join(" ");
        support::skipped(test, format_args!("{rustc} has no std for {TARGET}: scripts/setup.sh fetches it"));
    }
    there
}

/// A package in a folder of its own.
pub struct Package(Shop);

impl Package {
    /// `manifest`: what comes behind the package's name. `place`: where its source lies.
    pub fn new(name: &str, manifest: &str, place: &str, source: &str) -> Package {
        let shop = Shop::new();
        std::fs::create_dir(shop.path("src")).expect("a folder");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let package = format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n");
        let guest = here.parent().expect("crates").join("lockgate-guest");
        shop.write("Cargo.toml", &(package + &manifest.replace("GUEST", guest.to_str().expect("text"))));
        shop.write(place, source);
        Package(shop)
    }

    /// Its folder.
    pub fn shop(&self) -> &Shop {
        &self.0
    }

    /// `lockgate cargo …`, with its output.
    fn cargo(&self, arguments: &[&str]) -> Output {
        let mut lockgate = self.0.command(env!("CARGO_BIN_EXE_lockgate"));
        for name in CARGOS {
            lockgate.env_remove(name);
        }
        lockgate.env("CARGO_NET_OFFLINE", "true").arg("cargo").args(arguments).output().expect("it starts")
    }

    /// The module that `lockgate cargo build` makes.
    pub fn module(&self, name: &str) -> PathBuf {
        // Options may precede the command.
        let output = self.cargo(&["-q", "--color", "never", "build"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let module = self.0.path(&format!("target/{TARGET}/debug/{name}.lg"));
        assert!(text(&output.stderr).contains(module.to_str().expect("text")), "it is named");
        module
    }
}

const WORDS: &str =
    "[lib]\ncrate-type = [\"cdylib\"]\n[dependencies]\nlockgate-guest = { path = \"GUEST\" }\n";

/// The crate's own way: exports and imports with their types, by a host in Rust and one in C.
#[test]
fn a_library_is_called_and_calls() {
    if !can_build("a_library_is_called_and_calls") {
        return;
    }
    let package = Package::new("words", WORDS, "src/lib.rs", WORDS_SOURCE);
    let path = package.module("words");
    let module = Module::open(&path).expect("a module");
    let log = HostFunction::new(|domain: &Domain, line: Pointer<u8>| -> i32 {
        let line = domain.read_string(line, 100).expect("a text").trust("a test");
        line.to_bytes().len() as i32
    });
    let domain = Domain::new(&module, DomainOptions::default().gate("host_log", log)).expect("a domain");

    let words = domain.bind::<extern "C" fn(Pointer<u8>) -> i32>("words").expect("it is exported");
    let line = domain.alloc_string(c"one two Two three one").expect("memory");
    assert_eq!(words.call(line).unwrap(), 3);
    let log_twice = domain.bind::<extern "C" fn(i64) -> i32>("log_twice").unwrap();
    assert_eq!(log_twice.call(42).unwrap(), ("number 42".len() + "again".len()) as i32);
    domain.bind::<extern "C" fn()>("nothing").unwrap().call().unwrap();
    // A text that may be none, and one that may not.
    let length = domain.bind::<extern "C" fn(Pointer<u8>) -> i32>("length").unwrap();
    let none = Pointer::from_address(0);
    assert_eq!((length.call(line).unwrap(), length.call(none).unwrap()), (21, -1));
    let error = words.call(none).expect_err("it panics").to_string();
    assert!(error.contains("a text is a null pointer"), "{error}");
    // Any byte but 0 is true.
    let either = domain.bind::<extern "C" fn(u8, u8) -> u8>("either").unwrap();
    let answers = [(0, 0), (0, 1), (1, 0), (2, 0)].map(|(a, b)| either.call(a, b).unwrap());
    assert_eq!(answers, [0, 1, 1, 1]);
    // The notes have the types: another one is refused.
    let error = domain.bind::<extern "C" fn(f64) -> i32>("words").expect_err("words takes no number");
    assert!(error.to_string().contains("words"), "{error}");

    // Memory and rings of the host's.
    let region = Region::new(4096).unwrap();
    let values = region.slice::<u32>(0, 1000).unwrap();
    values.write(0, &(0..1000).collect::<Vec<u32>>()).unwrap();
    let grant = domain.grant(&region, Rights::Read).unwrap();
    let total = domain.bind::<extern "C" fn(Pointer<u32>, u64) -> u64>("total").unwrap();
    assert_eq!(total.call(grant.pointer(0).unwrap(), 1000).unwrap(), 499_500);
    let region = Region::new(4096).unwrap();
    let mut ring = Ring::<u64>::new(&region, 0, 16).unwrap().producer();
    let granted = domain.grant(&region, Rights::ReadWrite).unwrap();
    let drain = domain.bind::<extern "C" fn(Pointer<u8>, u32) -> i64>("drain").unwrap();
    (1..=10).for_each(|n| assert!(ring.push(&n).unwrap()));
    assert_eq!(drain.call(granted.pointer(0).unwrap(), 16).unwrap(), 55);
    assert_eq!(drain.call(granted.pointer(0).unwrap(), 15).unwrap(), -2);

    only_what_is_shared_is_granted(&module);

    // A panic that is caught, and one that is not: its message and place are in the call's error, and names as Rust has them.
    let divide_or = domain.bind::<extern "C" fn(i32, i32, i32) -> i32>("divide_or").unwrap();
    assert_eq!((divide_or.call(6, 2, -1).unwrap(), divide_or.call(6, 0, -1).unwrap()), (3, -1));
    let divide = domain.bind::<extern "C" fn(i32, i32) -> i32>("divide").unwrap();
    assert_eq!(divide.call(6, 2).unwrap(), 3);
    let error = divide.call(6, 0).unwrap_err();
    let fault = error.fault().expect("a fault");
    assert_eq!(fault.kind(), FaultKind::Abort);
    let line = 1 + WORDS_SOURCE.lines().position(|line| line.trim() == "a / b").unwrap();
    let expected = format!("panicked at src/lib.rs:{line}:9: attempt to divide by zero");
    assert!(fault.reason().contains(&expected), "{}", fault.reason());
    let trace = format!("{:#}", fault.backtrace());
    assert!(trace.contains("core::panicking::panic_fmt") && trace.contains("words::divide"), "{trace}");

    let host = package.0.path("host");
    let prefix = crate::installed::prefix();
    let mut gcc = Command::new("gcc");
    gcc.arg("-g").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cargo/host.c")).arg("-o").arg(&host);
    gcc.arg("-I").arg(prefix.join("include")).arg("-L").arg(prefix.join("lib")).arg("-llockgate");
    done(gcc.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()))).expect("it compiles");
    let said = done(Command::new(&host).arg(&path)).expect("it runs");
    assert!(said.starts_with("3 words, 3, 2, 7: ") && said.contains(&expected), "{said}");
}

/// `Shared::granted` and `Ring::granted` are safe, whatever the module's own code gives them: they take what is shared with the domain at that
/// moment. If that ends, by the host or with the call that it was lent for, an access ends its call. Red if addresses are not looked at: a module's
/// own memory is granted; and if the runtime looks at the start of what is asked for alone.
fn only_what_is_shared_is_granted(module: &Arc<Module>) {
    let held: Arc<Mutex<Option<Grant>>> = Arc::default();
    let taken = held.clone();
    let takes = HostFunction::new(move |_: &Domain, _: Pointer<u8>| -> i32 {
        drop(taken.lock().unwrap().take());
        0
    });
    let mut domain = Domain::new(module, DomainOptions::default().gate("host_log", takes)).expect("a domain");
    let region = Region::new(4096).unwrap();
    region.slice::<u32>(0, 1024).unwrap().write(0, &[3; 1024]).unwrap();
    let grant = domain.grant(&region, Rights::Read).unwrap();
    let (first, end) = (grant.pointer::<u32>(0).unwrap(), grant.pointer::<u32>(4092).unwrap());
    let at = |pointer: Pointer<u32>, more: u64| Pointer::<u32>::from_address(pointer.address() + more);
    {
        let total = domain.bind::<extern "C" fn(Pointer<u32>, u64) -> u64>("total").unwrap();
        let own = domain.alloc::<u32>(4).unwrap();
        let cases = [
            (first, 1024, 3072),
            (end, 1, 3),
            (first, 1025, u64::MAX),
            (end, 2, u64::MAX),
            (at(end, 4), 0, u64::MAX),
            (at(first, 2), 1, u64::MAX),
            (first, 1 << 62, u64::MAX),
            (first, u64::MAX / 4, u64::MAX),
            (own, 4, u64::MAX),
            (Pointer::NULL, 1, u64::MAX),
            (at(first, 0x1000_0000), 1, u64::MAX),
        ];
        for (pointer, count, sum) in cases {
            assert_eq!(total.call(pointer, count).unwrap(), sum, "{count} at {:#x}", pointer.offset());
        }
        let own_memory = domain.bind::<extern "C" fn(u64) -> i32>("own_memory").unwrap();
        for address in [0, 64, at(end, 4).address(), at(end, 4).address() | 1 << 63, u64::MAX - 63] {
            assert_eq!(own_memory.call(address).unwrap(), 0, "{address:#x}");
        }
        // A ring is for writing.
        let drain = domain.bind::<extern "C" fn(Pointer<u32>, u32) -> i64>("drain").unwrap();
        assert_eq!(drain.call(first, 16).unwrap(), -2);
        let write = domain.bind::<extern "C" fn(Pointer<u32>) -> i32>("write_first").unwrap();
        let error = write.call(first).unwrap_err();
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Segv, "{error}");
    }
    drop(grant);
    domain.reset().expect("no call is in it");
    region.slice::<u32>(0, 1024).unwrap().write(0, &[u32::MAX; 1024]).unwrap();

    let grant = domain.grant(&region, Rights::ReadWrite).unwrap();
    let drain = domain.bind::<extern "C" fn(Pointer<u32>, u32) -> i64>("drain").unwrap();
    let ring = |capacity: u32| drain.call(grant.pointer(0).unwrap(), capacity).unwrap();
    // What is there is no ring, for either; the second one would end behind the region.
    assert_eq!((ring(256), ring(512)), (-1, -2));
    let pointer = grant.pointer(0).unwrap();
    *held.lock().unwrap() = Some(grant);
    let keeps = domain.bind::<extern "C" fn(Pointer<u32>) -> i64>("keeps").unwrap();
    let error = keeps.call(pointer).unwrap_err();
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Segv, "{error}");
    assert_eq!(keeps.call(pointer).unwrap(), -1);
}

/// Calls that end in the middle of a panic, by a limit or by the panic itself: later ones panic and catch as ever, and std knows nothing of it any
/// more (docs/limits.md, "What an ended call leaves"). Red if what std counts is not found, in its own object or where it was optimised with the
/// crate.
#[test]
fn calls_that_end_in_a_panic() {
    if !can_build("calls_that_end_in_a_panic") {
        return;
    }
    for more in ["", "[profile.dev]\nlto = true\nopt-level = 2\n"] {
        let package = Package::new("ended", &(WORDS.to_owned() + more), "src/lib.rs", ENDED);
        ends_in_a_panic(&Module::open(package.module("ended")).expect("a module"));
    }
}

fn ends_in_a_panic(module: &Arc<Module>) {
    for (how, kind) in [("hangs", FaultKind::TimeOut), ("fails", FaultKind::Abort)] {
        let options = DomainOptions::default().time_limit(Duration::from_millis(100));
        let mut domain = Domain::new(module, options).expect("a domain");
        for round in 0..3 {
            let panicking = domain.bind::<extern "C" fn() -> i32>("panicking").expect("it is exported");
            let poisons = domain.bind::<extern "C" fn() -> i32>("poisons").unwrap();
            let left = || (in_time(|| panicking.call()).unwrap(), in_time(|| poisons.call()).unwrap());
            assert_eq!(left(), (0, 3), "{how} {round}");
            let ends = domain.bind::<extern "C" fn(i32) -> i32>(how).unwrap();
            let catches = domain.bind::<extern "C" fn(i32) -> i32>("catches").unwrap();
            for number in 1..4 {
                let ended = match kind {
                    FaultKind::TimeOut => ends.call(number),
                    _ => in_time(|| ends.call(number)),
                };
                let error = ended.unwrap_err();
                let fault = error.fault().expect("a fault");
                assert_eq!(fault.kind(), kind, "{error}");
                if kind == FaultKind::Abort {
                    assert!(fault.reason().contains(&format!("it fails with {number}")), "{error}");
                }
                assert_eq!(in_time(|| catches.call(number)).unwrap(), -number, "{how} {round}");
                assert_eq!(in_time(|| ends.call(-number)).unwrap(), -number, "{how} {round}");
                assert_eq!(left(), (0, 3), "{how} {round} {number}");
            }
            drop((panicking, poisons, ends, catches));
            domain.reset().expect("nobody is inside");
        }
    }
}

/// Functions that rustc inlined have their paths, in both ways that it makes names. Red if a report takes the names in the source, `add` and
/// `{closure#0}`.
#[test]
fn inlined_functions_have_their_paths() {
    if !can_build("inlined_functions_have_their_paths") {
        return;
    }
    // Names of either way do for what the compiler does by itself, which changes with its version.
    let legacy = ["near::shop::Sum<i64>::add", "near::shop::pay::{{closure}}"];
    let v0 = ["<near::shop::Sum<i64>>::add", "near::shop::pay::{closure#0}"];
    for (flags, ways) in [("", &[legacy, v0][..]), ("\"-Csymbol-mangling-version=v0\"", &[v0])] {
        let profile = "[profile.dev]\nopt-level = 2\ndebug = true\n";
        let package = Package::new("near", profile, "src/main.rs", NEAR);
        std::fs::create_dir(package.0.path(".cargo")).unwrap();
        package.0.write(".cargo/config.toml", &format!("[target.{TARGET}]\nrustflags = [{flags}]\n"));
        let output = package.0.lockgate("run").arg(package.module("near")).output();
        let said = text(&output.stderr);
        let lines =
            ["ADD", "CLOSURE"].map(|mark| 1 + NEAR.lines().position(|line| line.ends_with(mark)).unwrap());
        let are_there = |names: &[&str; 2]| {
            (0..2).all(|at| said.contains(&format!(": {} at src/main.rs:{}, inlined", names[at], lines[at])))
        };
        assert!(ways.iter().any(are_there), "{flags}: {said}");
    }
}

/// A `staticlib`, without any crate of ours.
#[test]
fn a_static_library_is_a_module() {
    if !can_build("a_static_library_is_a_module") {
        return;
    }
    let package = Package::new("plain", "[lib]\ncrate-type = [\"staticlib\"]\n", "src/lib.rs", PLAIN);
    let module = Module::open(package.module("plain")).expect("a module");
    let domain = Domain::new(&module, DomainOptions::default()).expect("a domain");
    let add_up = domain.bind::<extern "C" fn(Pointer<i32>, u64) -> i64>("add_up").expect("it is exported");
    let values = domain.alloc::<i32>(4).unwrap();
    domain.write_slice(values, &[5, -1, 3, 100]).unwrap();
    assert_eq!(add_up.call(values, 4).unwrap(), 107);
    let fails = domain.bind::<extern "C" fn()>("fails").unwrap();
    let error = fails.call().unwrap_err().to_string();
    assert!(error.contains("panicked at src/lib.rs:14:10: there is none"), "{error}");
    let exports: Vec<_> = module.exports().map(|(name, _)| name.to_owned()).collect();
    assert!(!exports.iter().any(|name| name.starts_with("_R") || name.starts_with("_ZN")), "{exports:?}");
}

/// Threads, thread-locals, files beneath a grant, panics that unwind, backtraces: with the same output as outside.
#[test]
fn a_program_runs_as_outside() {
    if !can_build("a_program_runs_as_outside") {
        return;
    }
    let package = Package::new("program", "", "src/main.rs", PROGRAM);
    for folder in ["inside", "outside"] {
        std::fs::create_dir(package.0.path(folder)).unwrap();
    }
    // (What `lockgate cargo` asks for by itself may be said otherwise.)
    let said = ["--run=--dir=/data=inside", "--run=--threads=8", "--run=-q"];
    let inside = package.cargo(&[&said[..], &["run", "--", "/data", "one", "two words"]].concat());
    let mut cargo = package.0.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for name in CARGOS {
        cargo.env_remove(name);
    }
    let outside = cargo.args(["run", "--", "outside", "one", "two words"]).output().expect("it starts");
    assert_eq!(text(&inside.stdout), text(&outside.stdout), "{}", text(&inside.stderr));
    assert_eq!((inside.status.code(), outside.status.code()), (Some(7), Some(7)), "{}", text(&inside.stderr));
    assert!(text(&inside.stdout).contains("poisoned true"), "it went to the end");
    assert!(text(&inside.stdout).contains("program::in_progress main.rs:"), "names and lines");

    // It has a module's name, too. Rust's `main` catches a panic.
    let module = package.module("program");
    let output = package.0.lockgate("run").args(["--threads", "8"]).arg(module).output();
    assert_eq!(output.status.code(), Some(101));
    assert!(
        text(&output.stderr).contains("called `Option::unwrap()` on a `None` value"),
        "{}",
        text(&output.stderr)
    );

    let tests = package.cargo(&["test"]);
    let said = text(&tests.stdout);
    assert_eq!(tests.status.code(), Some(101), "{}", text(&tests.stderr));
    for expected in [
        "test tests::passes ... ok",
        "test tests::data ... ok",
        "test tests::fails ... FAILED",
        "test tests::panics - should panic ... ok",
        "test tests::ignored ... ignored, never",
        "arithmetic",
        "3 passed; 1 failed; 1 ignored",
    ] {
        assert!(said.contains(expected), "no {expected}: {said}");
    }
}

/// Versions of Rust by name, whatever the one is that these tests are built with: the oldest that the workspace takes, whose memmove is another,
/// and the one that this was written with. `scripts/setup.sh` fetches both.
#[test]
fn pinned_versions_of_rust_will_do() {
    let used = Command::new("rustc")
        .arg("--version")
        .output()
        .map(|output| text(&output.stdout))
        .unwrap_or_default();
    for version in ["1.88.0", "1.95.0"] {
        // All other tests are of that.
        if used.starts_with(&format!("rustc {version} ")) {
            continue;
        }
        let name = format!("pinned_versions_of_rust_will_do, Rust {version}");
        if can_build_with(&name, &[&format!("+{version}")]) {
            runs_as_outside(version);
            // One of these in each run, all in `make thorough`.
            let ways = [guests_with as fn(&str), static_libraries_with, tests_with];
            support::Part::one_in(ways.len(), &name).among(&ways).for_each(|way| way(version));
        }
    }
}

fn runs_as_outside(version: &str) {
    let package = Package::new("program", "", "src/main.rs", PROGRAM);
    std::fs::create_dir(package.0.path("inside")).unwrap();
    // rustup's cargo, not the one that runs these tests.
    let mut lockgate = package.0.command(env!("CARGO_BIN_EXE_lockgate"));
    for name in CARGOS.iter().chain(&["CARGO"]) {
        lockgate.env_remove(name);
    }
    lockgate.env("RUSTUP_TOOLCHAIN", version).args([
        "cargo",
        "--run=--dir=/data=inside",
        "run",
        "--",
        "/data",
    ]);
    let output = lockgate.output().expect("it starts");
    assert_eq!(output.status.code(), Some(7), "{version}: {}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("program::in_progress main.rs:"), "{version}: {said}");
}

/// `lockgate cargo …` with rustup's Cargo of a version.
fn cargo_of(version: &str, package: &Package, command: &str) -> Output {
    let mut lockgate = package.0.command(env!("CARGO_BIN_EXE_lockgate"));
    for name in CARGOS.iter().chain(&["CARGO"]) {
        lockgate.env_remove(name);
    }
    let lockgate = lockgate.env("RUSTUP_TOOLCHAIN", version).env("CARGO_NET_OFFLINE", "true");
    lockgate.args(["cargo", command]).output().expect("it starts")
}

/// The module that a package is with a version.
fn module_of(version: &str, package: &Package, name: &str) -> Arc<Module> {
    let output = cargo_of(version, package, "build");
    assert!(output.status.success(), "{version}: {}", text(&output.stderr));
    Module::open(package.0.path(&format!("target/{TARGET}/debug/{name}.lg"))).expect("a module")
}

fn guests_with(version: &str) {
    let package = Package::new("words", WORDS, "src/lib.rs", WORDS_SOURCE);
    let log = HostFunction::new(|_: &Domain, _: Pointer<u8>| -> i32 { 0 });
    let options = DomainOptions::default().gate("host_log", log);
    let domain = Domain::new(&module_of(version, &package, "words"), options).expect("a domain");
    let words = domain.bind::<extern "C" fn(Pointer<u8>) -> i32>("words").expect("it is exported");
    assert_eq!(words.call(domain.alloc_string(c"one two Two three one").expect("memory")).unwrap(), 3);
    let divide_or = domain.bind::<extern "C" fn(i32, i32, i32) -> i32>("divide_or").unwrap();
    assert_eq!((divide_or.call(6, 2, -1).unwrap(), divide_or.call(6, 0, -1).unwrap()), (3, -1));
}

fn static_libraries_with(version: &str) {
    let package = Package::new("plain", "[lib]\ncrate-type = [\"staticlib\"]\n", "src/lib.rs", PLAIN);
    let module = module_of(version, &package, "plain");
    let domain = Domain::new(&module, DomainOptions::default()).expect("a domain");
    let add_up = domain.bind::<extern "C" fn(Pointer<i32>, u64) -> i64>("add_up").expect("it is exported");
    let values = domain.alloc::<i32>(4).unwrap();
    domain.write_slice(values, &[5, -1, 3, 100]).unwrap();
    assert_eq!(add_up.call(values, 4).unwrap(), 107);
}

fn tests_with(version: &str) {
    let package = Package::new("program", "", "src/main.rs", PROGRAM);
    let tests = cargo_of(version, &package, "test");
    let said = text(&tests.stdout);
    assert_eq!(tests.status.code(), Some(101), "{version}: {}", text(&tests.stderr));
    assert!(said.contains("3 passed; 1 failed; 1 ignored"), "{version}: {said}");
}

/// Some crates of crates.io; scripts/crate-tests.sh runs their own tests, and those of others.
#[test]
fn crates_compute_what_they_compute_outside() {
    const TEST: &str = "crates_compute_what_they_compute_outside";
    if !can_build(TEST) {
        return;
    }
    let package = Package(Shop::new());
    std::fs::create_dir(package.0.path("src")).expect("a folder");
    for file in ["Cargo.toml", "Cargo.lock", "src/main.rs"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cargo/crates").join(file);
        std::fs::copy(from, package.0.path(file)).expect("a file");
    }
    let mut cargo = package.0.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let fetched = cargo.args(["fetch", "--locked"]).output().expect("it starts");
    if !fetched.status.success() {
        return support::skipped(TEST, format!("Cargo cannot fetch them: {}", text(&fetched.stderr)));
    }
    let output = package.cargo(&["run", "--quiet", "--locked"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // What the program prints natively.
    assert_eq!(text(&output.stdout), include_str!("cargo/crates/expected.txt"));
}

/// Cargo as it is, with `lockgate-cc` as the linker: whoever sets it needs nothing else for programs.
#[test]
fn a_linker_is_all_it_takes() {
    if !can_build("a_linker_is_all_it_takes") {
        return;
    }
    let package = Package::new("aborts", "[profile.dev]\npanic = \"abort\"\n", "src/main.rs", ABORTS);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lockgate"), package.0.path("lockgate-cc")).unwrap();
    std::fs::create_dir(package.0.path(".cargo")).unwrap();
    let linker = package.0.path("lockgate-cc");
    package.0.write(".cargo/config.toml", &format!("[target.{TARGET}]\nlinker = \"{}\"\n", linker.display()));
    let mut cargo = package.0.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for name in CARGOS {
        cargo.env_remove(name);
    }
    done(cargo.args(["build", "--target", TARGET])).expect("it links");
    let output =
        package.0.lockgate("run").arg(package.0.path(&format!("target/{TARGET}/debug/aborts"))).output();
    assert_eq!((text(&output.stdout), output.status.code()), ("42\n".to_owned(), Some(134)));
    let said = text(&output.stderr);
    assert!(
        said.contains("its last message: thread 'main' (")
            && said.contains(") panicked at src/main.rs:3:5: at the end"),
        "{said}"
    );
}

/// A panic that passes frames of C++, an exception of C++ that comes to `catch_unwind`, and a panic that C++ catches and does not throw again: what is
/// destroyed, what is said, and how it ends are as outside.
#[test]
fn panics_and_exceptions_of_cxx_pass_each_other() {
    const TEST: &str = "panics_and_exceptions_of_cxx_pass_each_other";
    if !can_build(TEST) {
        return;
    }
    let build = "fn main() {\n    let folder = std::env::var(\"FOREIGN\").unwrap();\n    println!(\"cargo:rustc-link-search=native={folder}\");\n    \
                 println!(\"cargo:rustc-link-lib=static:-bundle=foreign\");\n    println!(\"cargo:rustc-link-lib=dylib=stdc++\");\n    \
                 println!(\"cargo:rerun-if-env-changed=FOREIGN\");\n}\n";
    let package = Package::new("foreign", "", "src/main.rs", include_str!("cargo/foreign/main_sys.rs"));
    let shop = package.shop();
    shop.write("build.rs", build);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cargo/foreign/foreign.cpp");
    let library = |folder: &str, compiler: &mut Command| {
        std::fs::create_dir(shop.path(folder)).expect("a folder");
        let object = shop.path(&format!("{folder}/foreign.o"));
        done(compiler.args(["-O1", "-c"]).arg(&source).arg("-o").arg(&object)).expect("it compiles");
        let archive = shop.path(&format!("{folder}/libforeign.a"));
        done(shop.command("ar").arg("rc").arg(archive).arg(object)).expect("an archive");
    };
    library("outside", &mut shop.command("g++"));
    library("inside", shop.command(env!("CARGO_BIN_EXE_lockgate")).arg("c++"));

    let built = |folder: &str, cargo: &mut Command| {
        for name in CARGOS {
            cargo.env_remove(name);
        }
        cargo.env("CARGO_NET_OFFLINE", "true").env("FOREIGN", shop.path(folder)).args(["build", "-q"]);
        let output = cargo.output().expect("it starts");
        assert!(output.status.success(), "{folder}: {}", text(&output.stderr));
    };
    built("outside", &mut shop.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())));
    built("inside", shop.command(env!("CARGO_BIN_EXE_lockgate")).arg("cargo"));
    // Numbers of threads differ, and what a report says about the end.
    let panics = |output: &Output| {
        let said = text(&output.stderr);
        let ours = said
            .lines()
            .filter(|line| line.starts_with("number ") || line.starts_with("fatal runtime error"));
        ours.map(str::to_owned).collect::<Vec<_>>()
    };
    for (way, expected) in [
        ("through", &["dropped in panics", "destroyed in passes"][..]),
        ("foreign", &["dropped in main"]),
        ("caught", &["dropped in panics", "destroyed in catches", "caught in C++"]),
    ] {
        let outside = shop.command(shop.path("target/debug/foreign")).arg(way).output().expect("it runs");
        let module = shop.path(&format!("target/{TARGET}/debug/foreign.lg"));
        let inside = shop.lockgate("run").arg(module).arg(way).output();
        let said = text(&outside.stdout);
        assert_eq!(text(&inside.stdout), said, "{way}: {}", text(&inside.stderr));
        assert!(said.lines().zip(expected).all(|(line, expected)| line == *expected), "{way}: {said}");
        assert_eq!(panics(&inside), panics(&outside), "{way}");
        assert!(!panics(&outside).is_empty(), "{way}: it says why");
        let signal = std::os::unix::process::ExitStatusExt::signal(&outside.status);
        let status = outside.status.code().or(signal.map(|signal| 128 + signal));
        assert_eq!(inside.status.code(), status, "{way}");
    }
}
