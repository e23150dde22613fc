//! `languages.*`: programs in C++ and Rust in a domain, against native ones.
//!
//! The native side is what g++ and Cargo make by themselves, with glibc: quicker than with musl, whose allocator and `memcpy` are slow.
//! A measurement is the CPU time of the whole process, start-up included, in turns as those of [`crate::overhead`].

use crate::child_sys::run_both;
use crate::command::done;
use crate::overhead::ratios;
use crate::{Metric, Options, Pinned, code_size, progress};
use anyhow::ensure;
use lockgate_corpus::Corpus;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rounds of a full run, and of a quick one.
const ROUNDS: (usize, usize) = (9, 3);
/// A quick run does this fraction of the work.
const QUICK: u32 = 4;
/// The target that modules in Rust are built for.
const RUST_TARGET: &str = "x86_64-unknown-linux-musl";
/// Flags of both sides in C++.
const CPP_FLAGS: &[&str] = &["-O2", "-std=c++17"];

/// Programs in C++, each a file of `bench/languages/cpp`, and how often each does its work: for about a second.
const CPP: &[(&str, u32)] =
    &[("json", 2000), ("shapes", 600), ("grid", 1600), ("words", 1200), ("patterns", 2500), ("throws", 4000)];

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
    for (name, count) in CPP {
        building.set_message(format!("cpp.{name}"));
        let source = sources.join("cpp").join(name).with_extension("cpp");
        let (native, module) = (folder.path().join(name), folder.path().join(name).with_extension("lg"));
        done(Command::new("g++").args(CPP_FLAGS).arg(&source).arg("-o").arg(&native))?;
        done(Command::new(lockgate).arg("c++").args(CPP_FLAGS).arg(&source).arg("-o").arg(&module))?;
        let arguments = vec![scale(options, *count)];
        pairs.push(Pair { name: format!("cpp.{name}"), native, module, arguments });
    }
    building.set_message("rust");
    let (native, module) = rust(lockgate, &sources.join("rust"), folder.path())?;
    for (name, count) in RUST {
        let arguments = vec![(*name).to_owned(), scale(options, *count)];
        pairs.push(Pair {
            name: format!("rust.{name}"),
            native: native.clone(),
            module: module.clone(),
            arguments,
        });
    }
    building.finish_and_clear();
    let pairs = options
        .chosen(
            &pairs.iter().map(|pair| (format!("languages.{}", pair.name), pair)).collect::<Vec<_>>(),
            |(name, _)| name,
        )?
        .into_iter()
        .map(|(_, pair)| *pair)
        .collect::<Vec<_>>();

    let _pinned = Pinned::here()?;
    let rounds = if options.quick { ROUNDS.1 } else { ROUNDS.0 };
    let bar = progress::bar("languages", ((rounds + 1) * pairs.len()) as u64);
    let mut times = vec![(Vec::new(), Vec::new()); pairs.len()];
    for round in 0..=rounds {
        for (pair, (native, sandboxed)) in pairs.iter().zip(&mut times) {
            bar.set_message(pair.name.clone());
            let (first, second) = (Command::new(&pair.native), Command::new(lockgate));
            let mut both = [first, second];
            both[0].args(&pair.arguments);
            both[1].arg("run").arg(&pair.module).args(&pair.arguments);
            let [ours, theirs] = run_both(round, &mut both)?;
            ensure!(ours.output == theirs.output, "{}: native and sandboxed results differ", pair.name);
            // The first round warms up.
            if round > 0 {
                native.push(ours.seconds);
                sandboxed.push(theirs.seconds);
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();

    let mut metrics = Vec::new();
    for (pair, (native, sandboxed)) in pairs.iter().zip(&times) {
        let native = Metric::new(format!("time.{}.native", pair.name), "s", native.clone());
        let sandboxed =
            Metric::new(format!("time.{}.sandboxed", pair.name), "s", sandboxed.clone()).against(&native);
        metrics.extend([native, sandboxed]);
    }
    let names: Vec<&str> = pairs.iter().map(|pair| &*pair.name).collect();
    metrics.extend(ratios("languages", &names, &times));
    // (The native side in C++ has its libraries elsewhere.)
    let sizes = (code_size::of(&module)?, code_size::of(&native)?);
    metrics.push(Metric::new("languages.code_size", "ratio", vec![sizes.0 as f64 / sizes.1 as f64]));
    Ok(metrics)
}

fn scale(options: &Options, count: u32) -> String {
    if options.quick { count.div_ceil(QUICK) } else { count }.to_string()
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
