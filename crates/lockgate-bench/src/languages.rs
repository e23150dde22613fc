//! `languages.*`: programs in C++ and Rust, and an interpreter whose programs throw, in a domain, against native ones.
//!
//! The native side is what g++ and Cargo make by themselves, with glibc: quicker than with musl, whose allocator and `memcpy` are slow.
//! A measurement is the CPU time of the whole process, start-up included, in turns as those of [`crate::overhead`].

use crate::command::done;
use crate::{Metric, Options, Pinned, code_size, progress, sides};
use lockgate_corpus::Corpus;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target that modules in Rust are built for.
const RUST_TARGET: &str = "x86_64-unknown-linux-musl";
/// Flags of both sides in C++.
const CPP_FLAGS: &[&str] = &["-O2", "-std=c++17"];

/// Programs in C++, each a file of `bench/languages/cpp`, and how often each does its work: for about a second.
const CPP: &[(&str, u32)] = &[
    ("json", 2000),
    ("shapes", 600),
    ("grid", 1600),
    ("words", 1200),
    ("patterns", 2500),
    ("throws", 32_000),
];

/// Programs in C++ that do one thing alone, whose ratios are no part of the mean: a row, its file, what its command line begins with, and
/// how often. (glibc's switch of contexts makes a system call.) Signals that are raised, and timers of a millisecond for whose signal a loop waits.
/// Exceptions by depth; the last pass functions with destructors.
const APART: &[(&str, &str, &[&str], u32)] = &[
    ("contexts", "contexts", &[], 3000),
    ("signals", "signals", &["0"], 300_000),
    ("timers", "signals", &["1"], 500),
    ("unwind_1", "unwind", &["1", "0"], 1_000_000),
    ("unwind_10", "unwind", &["10", "0"], 400_000),
    ("unwind_100", "unwind", &["100", "0"], 60_000),
    ("unwind_10_held", "unwind", &["10", "1"], 150_000),
];

/// Lua programs that throw all the time, each an interpreter of its own in a file of `bench/languages/lua`; they are no part of the mean.
const LUA: &[(&str, u32)] = &[("errors", 3_000_000), ("throws", 20_000)];

/// Programs in Rust, each a name that the one of `bench/languages/rust` takes.
const RUST: &[(&str, u32)] =
    &[("json", 3000), ("patterns", 600), ("deflate", 500), ("maps", 1700), ("sorts", 800), ("panics", 5000)];

/// What a program is made of: a source file without its ending, or all of the one in Rust.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Cpp(&'static str),
    Lua(&'static str),
    Rust,
}

/// A row: a program of both sides, and what its command line begins with.
struct Row {
    /// `languages.cpp.json`.
    name: String,
    source: Source,
    /// It is no part of the mean.
    is_apart: bool,
    arguments: Vec<String>,
}

/// Files of a program: natively and as a module.
type Pair = [PathBuf; 2];

fn rows(options: &Options) -> Vec<Row> {
    let row = |source, name: &str, first: &[&str], count| {
        let language = match source {
            Source::Cpp(_) => "cpp",
            Source::Lua(_) => "lua",
            Source::Rust => "rust",
        };
        let count = sides::scale(options, count).to_string();
        let arguments = first.iter().map(|&argument| argument.to_owned()).chain([count]).collect();
        Row { name: format!("languages.{language}.{name}"), source, is_apart: false, arguments }
    };
    let counted = CPP.iter().map(|&(name, count)| row(Source::Cpp(name), name, &[], count));
    let apart = APART.iter().map(|&(name, file, first, count)| Row {
        is_apart: true,
        ..row(Source::Cpp(file), name, first, count)
    });
    let throwing =
        LUA.iter().map(|&(name, count)| Row { is_apart: true, ..row(Source::Lua(name), name, &[], count) });
    let rust = RUST.iter().map(|&(name, count)| row(Source::Rust, name, &[name], count));
    counted.chain(apart).chain(throwing).chain(rust).collect()
}

/// Measures all programs, or those that `options` name; `lockgate` is the program to build and run modules with.
pub fn measure(options: &Options, lockgate: &Path) -> anyhow::Result<Vec<Metric>> {
    let folder = tempfile::tempdir()?;
    let corpus = Corpus::locate()?;
    let sources = corpus.root().join("bench/languages");
    let rows = rows(options);
    let rows = options.chosen(&rows, |row| &row.name)?;
    let building = progress::bar("build", 0);
    let mut pairs: BTreeMap<Source, Pair> = BTreeMap::new();
    for row in &rows {
        building.set_message(row.name.clone());
        if let Entry::Vacant(vacant) = pairs.entry(row.source) {
            vacant.insert(match row.source {
                Source::Cpp(file) => {
                    cpp(lockgate, &sources.join("cpp").join(file), &folder.path().join(file))?
                }
                Source::Lua(file) => lua(lockgate, &corpus, file, folder.path())?,
                Source::Rust => rust(lockgate, &sources.join("rust"), folder.path())?,
            });
        }
    }
    building.finish_and_clear();

    let _pinned = Pinned::here()?;
    let names: Vec<&str> = rows.iter().map(|row| short(&row.name)).collect();
    let counts = |name: &str| rows.iter().any(|row| short(&row.name) == name && !row.is_apart);
    let mut metrics = sides::measure("languages", &names, options, counts, |number, round| {
        let row = rows[number];
        let [native, module] = &pairs[&row.source];
        let (mut native, mut sandboxed) = (Command::new(native), Command::new(lockgate));
        native.args(&row.arguments);
        sandboxed.arg("run").arg(module).args(&row.arguments);
        sides::both(&row.name, round, [native, sandboxed])
    })?;
    type Is = fn(&Source) -> bool;
    let languages: [(&str, Is); 2] =
        [("cpp", |source| matches!(source, Source::Cpp(_))), ("rust", |source| *source == Source::Rust)];
    for (language, is) in languages {
        let of_it = pairs.iter().filter(|(source, _)| is(source));
        let pairs: Vec<&Pair> = of_it.map(|(_, pair)| pair).collect();
        if !pairs.is_empty() {
            metrics.push(code_size(language, &pairs)?);
        }
    }
    Ok(metrics)
}

/// What a row is called in this family.
fn short(name: &str) -> &str {
    name.strip_prefix("languages.").unwrap_or(name)
}

/// Machine code of all modules over that of the native programs, libraries and all: those in C++ are linked statically for that.
fn code_size(language: &str, pairs: &[&Pair]) -> anyhow::Result<Metric> {
    let [mut native, mut module] = [0, 0];
    for [program, its_module] in pairs {
        let whole = program.with_extension(WHOLE);
        native += code_size::of(if whole.exists() { &whole } else { program })?;
        module += code_size::of(its_module)?;
    }
    Ok(Metric::new(format!("languages.{language}.code_size"), "ratio", vec![module as f64 / native as f64]))
}

/// Ending of a native program in C++ that has its libraries within.
const WHOLE: &str = "static";

/// A program in C++, natively and as a module; and natively with its libraries within, for its size alone.
fn cpp(lockgate: &Path, source: &Path, program: &Path) -> anyhow::Result<Pair> {
    let module = program.with_extension("lg");
    let build = |command: &mut Command, out: &Path| {
        done(command.args(CPP_FLAGS).arg(source.with_extension("cpp")).arg("-o").arg(out))
    };
    build(&mut Command::new("g++"), program)?;
    build(Command::new("g++").arg("-static"), &program.with_extension(WHOLE))?;
    build(Command::new(lockgate).arg("c++"), &module)?;
    Ok([program.to_owned(), module])
}

/// An interpreter with its program, natively and as a module, by the same compiler with the same flags.
fn lua(lockgate: &Path, corpus: &Corpus, file: &str, folder: &Path) -> anyhow::Result<Pair> {
    let library = corpus.library("lua")?;
    let driver = corpus.root().join("bench/languages/lua").join(file).with_extension("c");
    let program = folder.join(format!("lua-{file}"));
    let module = program.with_extension("lg");
    let build = |command: &mut Command, out: &Path| {
        command.arg("-O2").args(library.flags()).arg(&driver).args(&library.sources);
        done(command.args(["-lm", "-o"]).arg(out))
    };
    build(&mut Command::new("gcc"), &program)?;
    build(Command::new(lockgate).arg("cc"), &module)?;
    Ok([program, module])
}

/// The program in Rust, natively and as a module.
fn rust(lockgate: &Path, source: &Path, folder: &Path) -> anyhow::Result<Pair> {
    let build = |command: &mut Command, name: &str| {
        let target = folder.join(name);
        command.args(["build", "--quiet", "--release", "--locked", "--target-dir"]);
        done(command.arg(&target).current_dir(source)).map(|_| target)
    };
    let native = build(&mut Command::new("cargo"), "native")?.join("release/languages");
    let module = build(Command::new(lockgate).arg("cargo"), "module")?;
    let module = module.join(RUST_TARGET).join("release/languages.lg");
    Ok([native, module])
}
