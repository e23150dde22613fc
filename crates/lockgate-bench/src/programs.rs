//! The benchmark programs, built twice from the same sources with the same flags.

use anyhow::{Context as _, bail};
use lockgate_corpus::{Corpus, PROGRAMS, Program};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags of both sides.
pub const FLAGS: &[&str] = &["-O2", "-w"];

/// A program as an ordinary static executable and as a module.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Static executable against the distribution's musl.
    pub native: PathBuf,
    /// Verified module for `lockgate run`.
    pub module: PathBuf,
}

/// Builds every driver once per side into `folder`, with `lockgate` as the driver of the sandboxed side; calls
/// `built` after each. The result is by driver name.
pub fn build(
    corpus: &Corpus,
    lockgate: &Path,
    folder: &Path,
    built: impl Fn(&str) + Sync,
) -> anyhow::Result<BTreeMap<&'static str, Pair>> {
    let mut drivers: Vec<&Program> = PROGRAMS.iter().collect();
    drivers.sort_by_key(|program| program.driver);
    drivers.dedup_by_key(|program| program.driver);
    let mut pairs = BTreeMap::new();
    for program in drivers {
        let stem = folder.join(program.driver);
        let pair = Pair { native: stem.clone(), module: stem.with_extension("lg") };
        let mut native = Command::new("musl-gcc");
        native.arg("-static");
        let mut module = Command::new(lockgate);
        module.arg("cc");
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| compile(corpus, program, native, &pair.native));
            let second = compile(corpus, program, module, &pair.module);
            (first.join().expect("a build does not panic"), second)
        });
        first.and(second)?;
        built(program.driver);
        pairs.insert(program.driver, pair);
    }
    Ok(pairs)
}

/// Completes `compiler` with flags and sources of `program` and runs it.
fn compile(corpus: &Corpus, program: &Program, mut compiler: Command, output: &Path) -> anyhow::Result<()> {
    let (_, driver, library) = corpus.program(program.name)?;
    compiler.args(FLAGS).arg("-o").arg(output).arg(driver);
    if let Some(library) = library {
        compiler.args(library.flags()).args(&library.sources);
    }
    compiler.arg("-lm");
    let result = compiler.output().with_context(|| format!("cannot start {:?}", compiler.get_program()))?;
    if !result.status.success() {
        bail!("{compiler:?}: {}\n{}", result.status, String::from_utf8_lossy(&result.stderr));
    }
    Ok(())
}
