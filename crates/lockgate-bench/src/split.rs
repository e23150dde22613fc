//! `split.*`: a program in several domains against the same program in one piece.
//!
//! The program is bzip2 with decompression in a domain (`examples/split/bzip2`), built by its own makefile. A sample is the ratio of
//! the CPU times of two whole processes that ran in turns of a tenth of a second; both must write the same.

use crate::child_sys::run_both;
use crate::command::done;
use crate::{Metric, Options, Pinned, Report, installed, progress, stubs};
use anyhow::ensure;
use lockgate_corpus::Corpus;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The patch with bzip2's annotations.
pub const ANNOTATIONS: &str = "annotations.patch";
/// The patch that opens CVE-2010-0405 again.
pub const HOLE: &str = "cve-2010-0405.patch";

/// Rounds of a full run, and of a quick one.
const ROUNDS: (usize, usize) = (9, 3);
/// A quick run has this fraction of the data.
const QUICK: usize = 8;

/// What is measured, in lines of the shell in which `$P` is the program.
const WORK: &[(&str, &str)] = &[
    ("split.bzip2_decompress", "$P -dc text.bz2 >out && echo done"),
    ("split.bzip2_compress", "$P -c part >out && echo done"),
];

/// Builds bzip2 in `folder`, which is made, with the C compiler `compiler`, its makefile's `variables`, and the patches of those names, and runs its
/// own tests.
pub fn bzip2(
    corpus: &Corpus,
    folder: &Path,
    compiler: &str,
    variables: &[&str],
    patches: &[&str],
    library: &Path,
) -> anyhow::Result<PathBuf> {
    let published = corpus.package("bzip2-sys")?.join("bzip2-1.0.8");
    done(Command::new("cp").arg("-r").arg(published).arg(folder))?;
    for patch in patches {
        let patch = corpus.root().join("examples/split/bzip2").join(patch);
        done(Command::new("patch").args(["-p1", "-s", "-d"]).arg(folder).arg("-i").arg(patch))?;
    }
    let mut make = Command::new("make");
    make.current_dir(folder).arg(format!("CC={compiler}")).args(variables).args(["bzip2", "test"]);
    done(make.env("LOCKGATE_LIBRARY", library))?;
    Ok(folder.join("bzip2"))
}

/// Measures; `lockgate` is the program to build with, beside which the library was built or installed.
pub fn measure(options: &Options, lockgate: &Path) -> anyhow::Result<Report> {
    let corpus = Corpus::locate()?;
    let folder = tempfile::tempdir()?;
    let library = installed::library(corpus.root(), folder.path())?.join("lib");
    let include = corpus.root().join("crates/lockgate-headers/include");
    let compilers = [format!("gcc -I{}", include.display()), format!("{} cc --split", lockgate.display())];
    let names = ["plain", "split"];
    let mut programs = Vec::new();
    for (name, compiler) in names.iter().zip(&compilers) {
        programs.push(bzip2(&corpus, &folder.path().join(name), compiler, &[], &[ANNOTATIONS], &library)?);
    }
    let share = if options.quick { QUICK } else { 1 };
    let sides = ["one", "several"].map(|side| folder.path().join(side));
    for side in &sides {
        std::fs::create_dir(side)?;
        std::fs::write(side.join("text"), stubs::text((64 << 20) / share))?;
        std::fs::write(side.join("part"), stubs::text((16 << 20) / share))?;
        done(Command::new(&programs[0]).arg("-k").arg(side.join("text")))?;
    }
    let _pinned = Pinned::here()?;
    let rounds = if options.quick { ROUNDS.1 } else { ROUNDS.0 };
    let bar = progress::bar("split", ((rounds + 1) * WORK.len()) as u64);
    let mut metrics = Vec::new();
    for (metric, line) in WORK {
        bar.set_message(*metric);
        let mut ratios = Vec::new();
        for round in 0..=rounds {
            let mut commands = [0, 1].map(|side| {
                let mut command = Command::new("sh");
                command.args(["-c", line]).current_dir(&sides[side]).env("P", &programs[side]);
                command
            });
            let [plain, split] = run_both(round, &mut commands)?;
            let [one, other] = [0, 1].map(|side| std::fs::read(sides[side].join("out")));
            ensure!(one? == other?, "{metric}: the outputs differ");
            // The first round warms up.
            if round > 0 {
                ratios.push(split.seconds / plain.seconds);
            }
            bar.inc(1);
        }
        metrics.push(Metric::new(*metric, "ratio", ratios));
    }
    bar.finish_and_clear();
    Ok(Report::new(metrics))
}
