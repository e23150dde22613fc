//! Modules for PostgreSQL.

use crate::done;
use crate::root;
use lockgate_toolchain::{Host, Link, Sysroot, silent};
use std::path::{Path, PathBuf};

/// A source file of the extension's tests, `postgres/test/modules/NAME.c`.
pub fn source(name: &str) -> PathBuf {
    root().join("postgres/test/modules").join(name).with_extension("c")
}

/// Builds a module as `lockgate cc -g -O2 --for postgres` does: `NAME.lg`, in `folder`, of `source`.
///
/// # Errors
/// What compiler, rewriter or verifier say.
pub fn module(source: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let sysroot = Sysroot::ensure(&silent)?;
    let path = folder.join(source.file_stem().unwrap_or_default()).with_extension("lg");
    let object = path.with_extension("o");
    let mut compiler = sysroot.tools().compiler();
    // From where it is, so that reports name the file alone.
    let (place, name) = (source.parent().unwrap_or(Path::new(".")), source.file_name().unwrap_or_default());
    done(compiler.current_dir(place).args(["-g", "-O2", "-Wall", "-c"]).arg(name).arg("-o").arg(&object))?;
    let mut link = Link::new(&path);
    link.file(&object)?.export_all(true);
    for gate in Host::Postgres.gates() {
        link.gate(gate)?;
    }
    link.run(&sysroot, &silent)?;
    Ok(path)
}
