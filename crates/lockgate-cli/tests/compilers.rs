//! Small programs that check themselves (`tests/compilers`), natively and in a domain, with sets of the compiler's options: what they print
//! and return is the same, or the module is refused with a reason.

use crate::common::{Shop, text};
use fastrand::Rng;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::Part;

/// Options for the programs in turn.
const OPTIONS: &[&str] =
    &["-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-plt", "-O2 -fcf-protection=full -fstack-protector-all"];

/// Options with which values live in registers across calls although the calling convention lets calls change them.
const KEEPING: &[&str] = &[
    "-fipa-ra -O2 -mforce-indirect-call",
    "-fipa-ra -O3 -fcall-saved-r10",
    "-fipa-ra -O1 -fcall-saved-r11",
    "-fipa-ra -O2 -fcall-saved-r10 -fcall-saved-r11",
];

/// Programs whose values live across calls: with each of those options.
const ACROSS_CALLS: &[&str] = &[
    "values_across_calls",
    "kept_across_a_call",
    "saved_by_the_callee",
    "variable_arrays",
    "tail_calls",
    "many_registers",
];

/// What came of one program with one set of options.
enum Outcome {
    Same,
    /// The compiler itself cannot, or what it makes does not end.
    NotNative,
    Refused(String),
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compilers")
}

fn programs() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("the programs");
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.ok()?.path().file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    assert!(names.len() > 40, "only {} programs", names.len());
    names
}

/// Whatever runs longer has no end, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a command for as long as a program may take; `None` if it has no end.
fn run(command: &mut Command) -> Option<Output> {
    use std::process::Stdio;
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .expect("it starts");
    let read = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).map(|_| bytes).unwrap_or_default()
        })
    };
    let stdout = read(Box::new(child.stdout.take().expect("a pipe")));
    let stderr = read(Box::new(child.stderr.take().expect("a pipe")));
    let (tell, told) = std::sync::mpsc::channel::<()>();
    let id = child.id().to_string();
    let watch = std::thread::spawn(move || {
        let late = told.recv_timeout(LIMIT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if late {
            Command::new("kill").args(["-KILL", &id]).status().ok();
        }
        late
    });
    let status = child.wait().expect("a child");
    drop(tell);
    let late = watch.join().expect("the watch");
    let output =
        Output { status, stdout: stdout.join().expect("stdout"), stderr: stderr.join().expect("stderr") };
    (!late).then_some(output)
}

/// What is complained of where nothing is said.
const NO_END: &str = "it does not end";

/// Runs a compiler; what it complains of.
fn build(mut command: Command) -> Result<(), String> {
    let output = run(&mut command).ok_or(NO_END)?;
    if output.status.success() { Ok(()) } else { Err(text(&output.stderr).trim().to_owned()) }
}

/// What a program has printed, its status as shells say it, and what it complained of; `None` if it does not end.
fn ended(mut command: Command) -> Option<((String, Option<i32>), String)> {
    let Output { status, stdout, stderr } = run(&mut command)?;
    let status = status.code().or_else(|| Some(128 + status.signal()?));
    Some(((text(&stdout), status), text(&stderr)))
}

/// Compiles `program` with `options` by `compiler` (gcc or clang), natively and for a domain, and compares.
///
/// # Panics
/// If the program does something else in a domain.
fn try_one(compiler: &str, program: &str, options: &[&str]) -> Outcome {
    let shop = Shop::new();
    let what = format!("{compiler} {program} {options:?}");
    let source = folder().join(program).with_extension("c");
    let fixed = ["-w", "-std=gnu11"];
    // The host's C library does not save what these say that all functions do.
    let believed = |option: &&&str| !option.starts_with("-fcall-saved");
    let mut native = shop.command(compiler);
    native.args(fixed).args(options.iter().filter(believed)).arg(&source);
    native.args(["-o", "native", "-lm", "-pthread"]);
    if build(native).is_err() {
        return Outcome::NotNative;
    }
    let Some((expected, _)) = ended(shop.command(shop.path("native"))) else { return Outcome::NotNative };

    let mut link = shop.command(env!("CARGO_BIN_EXE_lockgate"));
    link.arg("cc");
    if compiler == "gcc" {
        link.args(fixed).args(options).arg(&source);
    } else {
        let mut compile = shop.command(compiler);
        compile.args(fixed).args(["-c", "-fPIE", "-nostdlibinc", "-isystem"]).arg(musl());
        compile.args(options).arg(&source).args(["-o", "program.o"]);
        if build(compile).is_err() {
            return Outcome::NotNative;
        }
        link.arg("program.o");
    }
    link.args(["-o", "program.lg", "-lm"]);
    if let Err(message) = build(link) {
        assert!(!message.contains("rejected") && message != NO_END, "{what}: {message}");
        return Outcome::Refused(message);
    }
    let mut confined = shop.command(env!("CARGO_BIN_EXE_lockgate"));
    confined.args(["run", "program.lg"]);
    let (confined, complaints) = ended(confined).unwrap_or_else(|| panic!("{what}: no end in a domain"));
    assert_eq!(confined, expected, "{what}: {complaints}");
    Outcome::Same
}

/// musl's headers.
fn musl() -> PathBuf {
    ["/usr/include/x86_64-linux-musl", "/usr/lib/musl/include"]
        .iter()
        .map(PathBuf::from)
        .find(|path| path.is_dir())
        .expect("musl's headers (package musl-dev)")
}

/// Must be the same: nothing that these options make is refused.
fn same(program: &str, options: &str) {
    let words: Vec<&str> = options.split(' ').collect();
    match try_one("gcc", program, &words) {
        Outcome::Same | Outcome::NotNative => (),
        Outcome::Refused(message) => panic!("{program} {options}: {message}"),
    }
}

#[test]
fn each_program_with_some_options() {
    let programs = programs();
    let part = Part::one_in(2, "programs");
    for (number, program) in part.among(programs.iter().enumerate()) {
        same(program, OPTIONS[number % OPTIONS.len()]);
    }
}

#[test]
#[ignore = "ten minutes; part of `make systems`"]
fn each_program_with_each_set_of_options() {
    for program in programs() {
        for options in OPTIONS {
            same(&program, options);
        }
    }
}

/// Where gcc sees that a callee leaves r10 and r11 alone, or is told that all do, it keeps values there: so must the rewritten code.
#[test]
fn values_in_registers_across_calls() {
    for program in ACROSS_CALLS {
        for options in KEEPING {
            let words: Vec<&str> = options.split(' ').collect();
            if let Outcome::Refused(message) = try_one("gcc", program, &words) {
                assert!(message.contains("live in r10 and in r11"), "{program} {options}: {message}");
            }
        }
    }
}

/// Static functions that only pointers reach, in objects without local symbols: unwind tables say where they begin, or their code.
#[test]
fn static_functions_of_stripped_objects() {
    let options = ["-O0", "-O2"].into_iter().flat_map(|level| {
        let tables = ["-fasynchronous-unwind-tables", "-fno-asynchronous-unwind-tables"];
        tables.map(|tables| [level, tables])
    });
    for (compiler, options) in options.flat_map(|options| ["gcc", "clang"].map(|name| (name, options))) {
        if !support::is_there(compiler, "static_functions_of_stripped_objects") {
            continue;
        }
        for strip in
            [&["strip", "-x"][..], &["strip", "--strip-unneeded"], &["ld", "-r", "-x", "-o", "new.o"]]
        {
            let shop = Shop::new();
            let what = format!("{compiler} {options:?} {strip:?}");
            let compile = shop.lockgate("cc").env("LOCKGATE_GCC", compiler).args(options);
            compile
                .args(["-w", "-g", "-c", "-o", "old.o"])
                .arg(folder().join("static_functions.c"))
                .run_quietly();
            let mut stripping = shop.command(strip[0]);
            assert!(stripping.args(&strip[1..]).arg("old.o").status().expect(strip[0]).success(), "{what}");
            let object = if strip[0] == "ld" { "new.o" } else { "old.o" };
            shop.lockgate("cc").args([object, "-o", "stripped.lg"]).run_quietly();
            let ran = shop.lockgate("run").arg("stripped.lg").output();
            assert_eq!(text(&ran.stdout), "-25 9\n", "{what}: {}", text(&ran.stderr));
        }
    }
}

/// Without a linkage table `setjmp` is called through the offset table; and never by a pointer to it.
#[test]
fn jumps_come_back_to_where_they_were_set() {
    for options in ["-O0 -fno-plt", "-O2 -fno-plt", "-O3 -fno-plt -fcf-protection=full"] {
        same("long_jumps", options);
        same("two_jump_buffers", options);
    }
    let shop = Shop::new();
    let source =
        "#include <setjmp.h>\nint (*set)(jmp_buf) = setjmp;\nint main(void) { jmp_buf b; return set(b); }";
    shop.write("pointer.c", source);
    let error = shop.lockgate("cc").args(["-w", "pointer.c", "-o", "pointer.lg"]).fail();
    assert!(error.contains("takes the address of a function that returns twice"), "{error}");
    assert!(error.contains("call setjmp by its name"), "{error}");
}

/// Options to draw from, by compiler. One of the first group, others by chance.
const LEVELS: &[&str] = &["-O0", "-O1", "-O2", "-O3", "-Os", "-Og"];
const OF_BOTH: &[&str] = &[
    "-fno-plt",
    "-fcf-protection=full",
    "-fstack-protector-all",
    "-fstack-clash-protection",
    "-fomit-frame-pointer",
    "-fno-omit-frame-pointer",
    "-funroll-loops",
    "-fno-inline",
    "-fno-jump-tables",
    "-ffunction-sections",
    "-fdata-sections",
    "-mavx2",
    "-mno-red-zone",
    "-fPIC",
    "-ftls-model=global-dynamic",
    "-ftls-model=initial-exec",
    "-fno-optimize-sibling-calls",
    "-mstackrealign",
    "-mtune=znver3",
    "-march=x86-64-v2",
    "-march=x86-64-v3",
    "-fwrapv",
    "-ftrapv",
    "-g",
    "-fno-delete-null-pointer-checks",
];
const OF_GCC: &[&str] = &[
    "-mforce-indirect-call",
    "-fcall-saved-r10",
    "-fcall-saved-r11",
    "-fipa-ra",
    "-fno-reorder-blocks",
    "-freorder-blocks-and-partition",
    "-fno-tree-vectorize",
    "-ftree-vectorize",
    "-mtls-dialect=gnu2",
    "-fno-schedule-insns2",
    "-fschedule-insns",
    "-fno-gcse",
    "-fgcse-after-reload",
    "-fno-tree-ter",
    "-fira-region=all",
    "-fira-region=one",
    "-fno-ira-share-spill-slots",
    "-fselective-scheduling2",
    "-fno-shrink-wrap",
    "-fno-shrink-wrap-separate",
    "-foptimize-sibling-calls",
    "-fno-crossjumping",
    "-fno-if-conversion",
    "-fno-if-conversion2",
    "-fno-peephole2",
    "-frename-registers",
    "-fweb",
    "-ftracer",
    "-fno-dce",
    "-fno-dse",
    "-fno-cprop-registers",
    "-mno-sse4",
    "-mfpmath=387",
    "-mpreferred-stack-boundary=5",
    "-maccumulate-outgoing-args",
    "-mno-push-args",
    "-minline-all-stringops",
    "-mstringop-strategy=rep_byte",
    "-mstringop-strategy=rep_8byte",
    "-mtune=atom",
    "-mtune=core2",
    "-fno-common",
    "-flto",
    "-fsplit-wide-types-early",
    "-flive-range-shrinkage",
    "-fno-forward-propagate",
    "-fno-combine-stack-adjustments",
    "-fno-defer-pop",
    "-fno-tree-sra",
    "-fipa-pta",
    "-fno-ipa-cp",
    "-fno-toplevel-reorder",
    "-fno-split-wide-types",
    "-fharden-compares",
    "-fzero-call-used-regs=used",
];
const OF_CLANG: &[&str] = &[
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-mllvm -enable-ipra",
    "-fglobal-isel",
    "-mllvm -enable-shrink-wrap=false",
    "-mllvm -disable-tail-duplicate",
    "-mllvm -enable-misched=false",
    "-mllvm -regalloc=basic",
    "-mllvm -x86-use-base-pointer=true",
    "-falign-functions=64",
    "-fsanitize=undefined -fsanitize-trap=all",
];

/// Programs that need not say the same in a domain. CAVEATS.md: `__builtin_return_address(0)` yields stale data there, which with some
/// options happens to be zero.
const DIFFERENT: &[&str] = &["return_address"];

/// What a program of another language takes.
struct Language {
    source: &'static str,
    /// Commands that say the compiler's version: the first one that works is the compiler, by its name or otherwise.
    compilers: &'static [&'static [&'static str]],
    /// What makes the program `native`, and objects.
    commands: &'static [&'static [&'static str]],
    links: &'static [&'static str],
    /// Archives of the compiler's own, which gcc knows the places of.
    archives: &'static [&'static str],
}

const ZIG: &[&str] =
    &["zig", "build-obj", "-O", "ReleaseFast", "-target", "x86_64-linux-musl", "-fPIC", "words.zig"];

const LANGUAGES: &[Language] = &[
    Language {
        source: "table.f90",
        compilers: &[&["gfortran", "--version"]],
        commands: &[
            &["gfortran", "-O2", "table.f90", "-o", "native"],
            &["gfortran", "-O2", "-g", "-c", "table.f90"],
        ],
        links: &["table.o", "-lm"],
        archives: &["libgfortran.a", "libquadmath.a"],
    },
    Language {
        source: "greet.adb",
        compilers: &[&["gnatbind", "--version"]],
        commands: &[
            &["gnatmake", "-q", "-O2", "greet.adb", "-o", "native"],
            &["gcc", "-O2", "-g", "-c", "greet.adb"],
            &["gnatbind", "greet.ali"],
            &["gcc", "-c", "b~greet.adb"],
        ],
        links: &["greet.o", "b~greet.o"],
        archives: &["adalib/libgnat.a"],
    },
    Language {
        source: "words.d",
        compilers: &[&["gdc", "--version"]],
        commands: &[
            &["gdc", "-O2", "-fno-druntime", "-nophoboslib", "words.d", "-o", "native"],
            &["gdc", "-O2", "-g", "-fno-druntime", "-c", "words.d"],
        ],
        links: &["words.o"],
        archives: &[],
    },
    Language {
        source: "words.zig",
        compilers: &[&["zig", "version"], &["python3", "-m", "ziglang", "version"]],
        commands: &[ZIG, &["gcc", "-static", "words.o", "-o", "native"]],
        links: &["words.o"],
        archives: &[],
    },
];

/// A program in each language whose compiler is there prints what it prints outside.
#[test]
fn programs_of_other_languages() {
    for language in LANGUAGES {
        let works = |probe: &&&[&str]| {
            let output = Command::new(probe[0]).args(&probe[1..]).output();
            output.is_ok_and(|output| output.status.success())
        };
        let Some([compiler @ .., _]) = language.compilers.iter().find(works) else {
            support::skipped(language.source, format!("there is no {}", language.compilers[0][0]));
            continue;
        };
        let shop = Shop::new();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages");
        std::fs::copy(sources.join(language.source), shop.path(language.source)).expect("a program");
        for words in language.commands {
            let (first, rest) = words.split_first().expect("a command");
            let program = if *first == language.compilers[0][0] { compiler } else { &[*first] };
            let mut command = shop.command(program[0]);
            command.args(&program[1..]).args(rest);
            build(command).expect("it compiles");
        }
        let archives = language.archives.iter().map(|archive| {
            let option = format!("-print-file-name={archive}");
            text(&Command::new("gcc").arg(option).output().expect("gcc").stdout).trim().to_owned()
        });
        let link = shop.lockgate("link").args(["-o", "module.lg"]).args(language.links).args(archives);
        link.arg("-lc").run_quietly();
        let (native, _) = ended(shop.command(shop.path("native"))).expect("it ends");
        let mut lockgate = shop.command(env!("CARGO_BIN_EXE_lockgate"));
        lockgate.args(["run", "module.lg"]);
        let (inside, said) = ended(lockgate).expect("it ends inside");
        assert_eq!(inside, native, "{}: {said}", language.source);
        assert_eq!(native.1, Some(0), "{}: {}", language.source, native.0);
        assert!(native.0.lines().count() > 1, "{}: {}", language.source, native.0);
    }
}

/// Programs of others, a few of those that `make systems` compares by the hundred: from the folder where its scripts leave what they fetch, by the
/// native compiler and the driver's command.
const OF_OTHERS: [(&str, &[&str], &str, &[&str]); 2] = [
    (
        "build/libc-tests/sources/src",
        &["musl-gcc", "-static"],
        "cc",
        &["functional/pthread_cancel.c", "functional/setjmp.c"],
    ),
    (
        "build/compiler-tests/gcc-12-programs/g++.dg",
        &["g++"],
        "c++",
        &["eh/cond1.C", "eh/forced1.C", "tls/thread_local3.C"],
    ),
];

/// They end well on both sides.
#[test]
fn some_programs_of_others() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    for (folder, compiler, driver, programs) in OF_OTHERS {
        let folder = root.join(folder);
        if !folder.is_dir() {
            support::skipped("some_programs_of_others", format!("no {}: make systems", folder.display()));
            continue;
        }
        for program in programs {
            let shop = Shop::new();
            // (musl's tests say by a function of their own what has failed.)
            let common = folder.join("common/print.c");
            let sources = [folder.join(program), common].into_iter().filter(|source| source.exists());
            let options = ["-O1", "-w", "-D_GNU_SOURCE", "-pthread", "-I"].map(PathBuf::from);
            let given: Vec<PathBuf> =
                options.into_iter().chain([folder.join("common")]).chain(sources).collect();
            let mut native = shop.command(compiler[0]);
            native.args(&compiler[1..]).args(&given).args(["-o", "native"]);
            build(native).expect("it compiles");
            shop.lockgate(driver).args(&given).args(["-o", "module.lg"]).run_quietly();
            let (native, said) = ended(shop.command(shop.path("native"))).expect("it ends");
            assert_eq!(native.1, Some(0), "{program}: {}{said}", native.0);
            let mut lockgate = shop.command(env!("CARGO_BIN_EXE_lockgate"));
            lockgate.args(["run", "--threads=8", "module.lg"]);
            let (inside, said) = ended(lockgate).expect("it ends inside");
            assert_eq!(inside, native, "{program}: {said}");
        }
    }
}

/// The programs with options drawn by chance: `LOCKGATE_BUILDS` of them (10,000), from the seed `LOCKGATE_SEED` (1).
#[test]
#[ignore = "hours; part of `make systems`"]
fn random_options() {
    let number = |name: &str, usual: usize| {
        std::env::var(name).map_or(usual, |value| value.parse().expect("a number"))
    };
    let (builds, seed) = (number("LOCKGATE_BUILDS", 10_000), number("LOCKGATE_SEED", 1));
    let mut programs = programs();
    programs.retain(|program| !DIFFERENT.contains(&program.as_str()));
    let clang = support::is_there("clang", "random options of clang");
    let next = AtomicUsize::new(0);
    let [same, not_native, refused] = [const { AtomicUsize::new(0) }; 3];
    let reasons = std::sync::Mutex::new(std::collections::BTreeMap::<String, usize>::new());
    let work = || loop {
        let build = next.fetch_add(1, Ordering::Relaxed);
        if build >= builds {
            return;
        }
        let mut random = Rng::with_seed(((seed as u64) << 32) + build as u64);
        let with_clang = clang && random.usize(..3) == 0;
        let (compiler, pool) = if with_clang { ("clang", OF_CLANG) } else { ("gcc", OF_GCC) };
        let program = &programs[random.usize(..programs.len())];
        let mut options = vec![LEVELS[random.usize(..LEVELS.len())]];
        for _ in 0..random.usize(..7) {
            let place = random.usize(..OF_BOTH.len() + pool.len());
            let option = OF_BOTH.get(place).unwrap_or_else(|| &pool[place - OF_BOTH.len()]);
            options.extend(option.split(' '));
        }
        match try_one(compiler, program, &options) {
            Outcome::Same => same.fetch_add(1, Ordering::Relaxed),
            Outcome::NotNative => not_native.fetch_add(1, Ordering::Relaxed),
            Outcome::Refused(message) => {
                let reason = message.rsplit("): ").next().unwrap_or_default().to_owned();
                *reasons.lock().expect("no panic").entry(format!("{program}: {reason}")).or_default() += 1;
                refused.fetch_add(1, Ordering::Relaxed)
            }
        };
    };
    std::thread::scope(|scope| {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        (0..processors).for_each(|_| drop(scope.spawn(work)));
    });
    println!("{same:?} the same, {refused:?} refused, {not_native:?} not for the compiler; clang: {clang}");
    for (reason, times) in reasons.into_inner().expect("no panic") {
        println!("{times:5} {reason}");
    }
    assert!(same.into_inner() * 2 > builds, "most builds are compared");
}
