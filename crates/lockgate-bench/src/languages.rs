//! `languages.*`: programs in C++ and Rust in a domain, against native ones.
//!
//! The native side is what g++ and Cargo make by themselves, with glibc: quicker than with musl, whose allocator and `memcpy` are slow.
//! A measurement is the CPU time of the whole process, start-up included, in turns as those of [`crate::overhead`].

use crate::command::done;
use crate::{Metric, Options, Pinned, code_size, progress, sides};
use lockgate_corpus::Corpus;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target that modules in Rust are built for.
const RUST_TARGET: &str = "x86_64-unknown-linux-musl";
/// Flags of both sides in C++.
const CPP_FLAGS: &[&str] = &["-O2", "-std=c++17"];

/// Programs in C++, each a file of `bench/languages/cpp`, and how often each does its work: for about a second.
const CPP: &[(&str, u32)] =
    &[("json", 2000), ("shapes", 600), ("grid", 1600), ("words", 1200), ("patterns", 2500), ("throws", 4000)];

/// Programs in C++ that do one thing alone, whose ratios are no part of the mean: a row, its file, what its command line begins with, and
/// how often. (glibc's switch of contexts makes a system call.) Exceptions by depth; the last pass functions with destructors.
const APART: &[(&str, &str, &[&str], u32)] = &[
    ("contexts", "contexts", &[], 3000),
    ("unwind_1", "unwind", &["1", "0"], 1_000_000),
    ("unwind_10", "unwind", &["10", "0"], 400_000),
    ("unwind_100", "unwind", &["100", "0"], 60_000),
    ("unwind_10_held", "unwind", &["10", "1"], 150_000),
];

/// Programs in Rust, each a name that the one of `bench/languages/rust` takes.
const RUST: &[(&str, u32)] =
    &[("json", 1200), ("patterns", 600), ("deflate", 500), ("maps", 700), ("sorts", 800), ("panics", 2000)];

/// A program of both sides, and what its command line begins with.
struct Pair {
    name: String,
    native: PathBuf,
    module: PathBuf,
    arguments: Vec<String>,
}

/// Measures all programs; `lockgate` is the program to build and run modules with.
pub fn measure(options: &Options, lockgate: &Path) -> anyhow::Result<Vec<Metric>> {
    let folder = tempfile::tempdir()?;
    let sources = Corpus::locate()?.root().join("bench/languages");
    let building = progress::bar("build", 0);
    let mut pairs = Vec::new();
    let counted = CPP.iter().map(|&(name, count)| (name, name, &[] as &[&str], count));
    for (name, file, first, count) in counted.chain(APART.iter().copied()) {
        let (native, module) = (folder.path().join(file), folder.path().join(file).with_extension("lg"));
        if !native.exists() {
            building.set_message(format!("cpp.{file}"));
            let source = sources.join("cpp").join(file).with_extension("cpp");
            done(Command::new("g++").args(CPP_FLAGS).arg(&source).arg("-o").arg(&native))?;
            done(Command::new(lockgate).arg("c++").args(CPP_FLAGS).arg(&source).arg("-o").arg(&module))?;
        }
        let count = sides::scale(options, count).to_string();
        let arguments = first.iter().map(|&argument| argument.to_owned()).chain([count]).collect();
        pairs.push(Pair { name: format!("cpp.{name}"), native, module, arguments });
    }
    building.set_message("rust");
    let (native, module) = rust(lockgate, &sources.join("rust"), folder.path())?;
    for (name, count) in RUST {
        let arguments = vec![(*name).to_owned(), sides::scale(options, *count).to_string()];
        pairs.push(Pair {
            name: format!("rust.{name}"),
            native: native.clone(),
            module: module.clone(),
            arguments,
        });
    }
    building.finish_and_clear();
    let named: Vec<(String, &Pair)> =
        pairs.iter().map(|pair| (format!("languages.{}", pair.name), pair)).collect();
    let pairs: Vec<&Pair> =
        options.chosen(&named, |(name, _)| name)?.into_iter().map(|(_, pair)| *pair).collect();

    let _pinned = Pinned::here()?;
    let names: Vec<&str> = pairs.iter().map(|pair| &*pair.name).collect();
    let counts = |name: &str| APART.iter().all(|(apart, ..)| name.strip_prefix("cpp.") != Some(apart));
    let mut metrics = sides::measure("languages", &names, options, counts, |number, round| {
        let pair = pairs[number];
        let (mut native, mut sandboxed) = (Command::new(&pair.native), Command::new(lockgate));
        native.args(&pair.arguments);
        sandboxed.arg("run").arg(&pair.module).args(&pair.arguments);
        sides::both(&pair.name, round, [native, sandboxed])
    })?;
    // (The native side in C++ has its libraries elsewhere.)
    let sizes = (code_size::of(&module)?, code_size::of(&native)?);
    metrics.push(Metric::new("languages.code_size", "ratio", vec![sizes.0 as f64 / sizes.1 as f64]));
    Ok(metrics)
}

/// The program in Rust, natively and as a module.
fn rust(lockgate: &Path, source: &Path, folder: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let build = |command: &mut Command, name: &str| {
        let target = folder.join(name);
        command.args(["build", "--quiet", "--release", "--locked", "--target-dir"]);
        done(command.arg(&target).current_dir(source)).map(|_| target)
    };
    let native = build(&mut Command::new("cargo"), "native")?.join("release/languages");
    let module = build(Command::new(lockgate).arg("cargo"), "module")?;
    let module = module.join(RUST_TARGET).join("release/languages.lg");
    Ok((native, module))
}
