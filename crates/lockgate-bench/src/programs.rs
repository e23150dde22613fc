//! The benchmark programs, built twice from the same sources with the same flags.

use crate::command::done;
use lockgate_corpus::{Corpus, PROGRAMS, Program};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags of both sides.
pub const FLAGS: &[&str] = &["-O2", "-w"];

/// Members of libc that the sysroot replaces by quicker ones. The native side has them too: it is not confinement that makes
/// them quick.
const QUICKER: &[&str] = &["memmove", "memcmp", "memchr", "strlen", "strcspn"];
/// Flags for these: gcc must not make a call of memmove of memmove's loops.
const QUICKER_FLAGS: &[&str] = &["-O2", "-ffreestanding", "-fno-tree-loop-distribute-patterns", "-c", "-o"];

/// A program as an ordinary static executable and as a module.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Static executable against the distribution's musl, with the sysroot's memory and string functions.
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
    built: impl Fn(&str),
) -> anyhow::Result<BTreeMap<&'static str, Pair>> {
    let mut drivers: Vec<&Program> = PROGRAMS.iter().collect();
    drivers.sort_by_key(|program| program.driver);
    drivers.dedup_by_key(|program| program.driver);
    let quicker = quicker(corpus, folder)?;
    let mut pairs = BTreeMap::new();
    for program in drivers {
        let native = folder.join(program.driver);
        let module = std::thread::scope(|scope| {
            let compile_native =
                || compile(corpus, program, Command::new("musl-gcc").arg("-static").args(&quicker), &native);
            let native = scope.spawn(compile_native);
            let module = module(corpus, lockgate, program.name, folder);
            native.join().expect("a build does not panic").and(module)
        })?;
        built(program.driver);
        pairs.insert(program.driver, Pair { native, module });
    }
    Ok(pairs)
}

/// Compiles [`QUICKER`] for the native side; the results are the objects.
fn quicker(corpus: &Corpus, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let object = |name: &&str| {
        let object = folder.join(name).with_extension("o");
        let source = corpus.root().join("sysroot/libc").join(name).with_extension("c");
        done(Command::new("musl-gcc").args(QUICKER_FLAGS).arg(&object).arg(source))?;
        Ok(object)
    };
    QUICKER.iter().map(object).collect()
}

/// Builds the sandboxed side of the program `name` into `folder`.
pub fn module(corpus: &Corpus, lockgate: &Path, name: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let (program, _, _) = corpus.program(name)?;
    let module = folder.join(program.driver).with_extension("lg");
    compile(corpus, program, Command::new(lockgate).arg("cc"), &module)?;
    Ok(module)
}

/// Completes `compiler` with flags and sources of `program` and runs it.
fn compile(corpus: &Corpus, program: &Program, compiler: &mut Command, output: &Path) -> anyhow::Result<()> {
    let (_, driver, library) = corpus.program(program.name)?;
    compiler.args(FLAGS).arg("-o").arg(output).arg(driver);
    if let Some(library) = library {
        compiler.args(library.flags()).args(&library.sources);
    }
    done(compiler.arg("-lm")).map(drop)
}
