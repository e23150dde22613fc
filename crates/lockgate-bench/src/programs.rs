//! The benchmark programs, built twice from the same sources with the same flags.

use crate::command::done;
use crate::stubs::layout;
use lockgate_corpus::{Corpus, Program};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags of both sides.
pub const FLAGS: &[&str] = &["-O2", "-w"];

/// Members of libc that the sysroot replaces by quicker ones. The native side has them too: it is not confinement that makes
/// them quick.
const QUICKER: &[&str] = &["malloc", "memmove", "memcmp", "memchr", "strlen", "strcspn"];
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

/// Builds every driver of `programs` into `folder`, with `lockgate` as the driver of the sandboxed side, in so many layouts
/// ([`crate::stubs::layout`]); calls `built` after each. The result is by driver name.
pub fn build(
    corpus: &Corpus,
    lockgate: &Path,
    programs: &[&Program],
    (folder, layouts): (&Path, usize),
    built: impl Fn(&str),
) -> anyhow::Result<BTreeMap<&'static str, Vec<Pair>>> {
    let mut drivers: Vec<&Program> = programs.to_vec();
    drivers.sort_by_key(|program| program.driver);
    drivers.dedup_by_key(|program| program.driver);
    let quicker = quicker(corpus, folder)?;
    let mut pairs = BTreeMap::new();
    for program in drivers {
        let own = folder.join(program.driver);
        let native = Side { link: &|| static_musl(&quicker), compile: &|| Command::new("musl-gcc") };
        let cc = || {
            let mut command = Command::new(lockgate);
            command.arg("cc");
            command
        };
        let module = Side { link: &cc, compile: &cc };
        let (natives, modules) = std::thread::scope(|scope| {
            let native = scope.spawn(|| native.build(corpus, program, &own.join("native"), layouts));
            let module = module.build(corpus, program, &own.join("module"), layouts);
            (native.join().expect("a build does not panic"), module)
        });
        built(program.driver);
        let both = natives?.into_iter().zip(modules?);
        pairs.insert(program.driver, both.map(|(native, module)| Pair { native, module }).collect());
    }
    Ok(pairs)
}

/// The compiler of the native side, ready to link.
fn static_musl(quicker: &[PathBuf]) -> Command {
    let mut command = Command::new("musl-gcc");
    // (Of larger blocks than ours no program asks for the size.)
    command.args(["-static", "-Wl,--defsym=__lg_usable_size=0"]).args(quicker);
    command
}

/// How one side is made.
struct Side<'a> {
    compile: &'a (dyn Fn() -> Command + Sync),
    link: &'a (dyn Fn() -> Command + Sync),
}

impl Side<'_> {
    /// Builds a program in so many layouts.
    fn build(
        &self,
        corpus: &Corpus,
        program: &Program,
        folder: &Path,
        layouts: usize,
    ) -> anyhow::Result<Vec<PathBuf>> {
        std::fs::create_dir_all(folder)?;
        let (_, driver, library) = corpus.program(program.name)?;
        let mut compile = (self.compile)();
        compile.args(FLAGS).arg(layout::FLAG).current_dir(folder).arg("-c").arg(&driver);
        let mut sources = vec![driver];
        if let Some(library) = library {
            compile.args(library.flags()).args(&library.sources);
            sources.extend(library.sources);
        }
        done(&mut compile)?;
        let object = |source: &PathBuf| {
            folder.join(source.file_name().expect("a file of the corpus")).with_extension("o")
        };
        let objects: Vec<PathBuf> = sources.iter().map(object).collect();
        let lay = |number: usize| {
            let padding = folder.join(format!("padding-{number}.c"));
            std::fs::write(&padding, layout::padding(number))?;
            let padded = padding.with_extension("o");
            let mut compile = (self.compile)();
            done(compile.args(FLAGS).args([layout::FLAG, "-c"]).arg(&padding).arg("-o").arg(&padded))?;
            let joined = folder.join(format!("joined-{number}.o"));
            let joined = layout::turned_behind(&[padded], &objects, number, layouts, joined)?;
            let path = folder.join(format!("program-{number}"));
            done((self.link)().args(FLAGS).arg(joined).arg("-lm").arg("-o").arg(&path))?;
            Ok(path)
        };
        (0..layouts).map(lay).collect()
    }
}

/// Compiles [`QUICKER`] for the native side; the results are the objects.
fn quicker(corpus: &Corpus, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let object = |name: &&str| {
        let object = folder.join(name).with_extension("o");
        let source =
            corpus.root().join("crates/lockgate-toolchain/sysroot/libc").join(name).with_extension("c");
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
