//! Objects and modules of library code, for benchmarks that call or rewrite it in this process.

use crate::command::done;
use anyhow::Context as _;
use lockgate_corpus::Library;
use lockgate_toolchain::{Link, Sysroot, Tools, silent};
use std::path::{Path, PathBuf};

/// Compiles every source of `library` with `-O2` into a folder of its own below `folder`.
pub fn of_library(tools: &Tools, library: &Library, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folder = folder.join(library.name);
    std::fs::create_dir(&folder)?;
    let flags = library.flags();
    let one = |source: &PathBuf| {
        let name = source.file_stem().with_context(|| format!("{} has no name", source.display()))?;
        let object = folder.join(name).with_extension("o");
        compile(tools, source, &flags, &object)?;
        Ok(object)
    };
    library.sources.iter().map(one).collect()
}

/// Builds the module `name` into `folder`: one C file, compiled with `-O2` and `flags`, with `exports` as entry points.
pub fn module(
    source: &Path,
    name: &str,
    flags: &[&str],
    exports: &[&str],
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    let sysroot = Sysroot::ensure(&silent)?;
    let path = folder.join(name).with_extension("lg");
    let object = path.with_extension("o");
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    compile(sysroot.tools(), source, &flags, &object)?;
    let mut link = Link::new(&path);
    link.file(&object)?;
    for export in exports {
        link.export(export)?;
    }
    link.run(&sysroot, &silent)?;
    Ok(path)
}

/// Compiles `source` with `-O2` to the ordinary object `object`.
fn compile(tools: &Tools, source: &Path, flags: &[String], object: &Path) -> anyhow::Result<()> {
    let mut compiler = tools.compiler();
    compiler.args(["-O2", "-w", "-c"]).args(flags).arg(source).arg("-o").arg(object);
    done(&mut compiler).map(drop)
}
