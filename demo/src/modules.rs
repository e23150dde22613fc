//! From C to modules: ordinary gcc, then Lockgate's linker.

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};
use lockgate_toolchain::{Link, LinkOutcome, Sysroot, Tools};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What the demo builds with.
pub struct Builder {
    plain: Sysroot,
    /// Made when it is first asked for.
    strict_bounds: OnceLock<Sysroot>,
    folder: tempfile::TempDir,
    bar: ProgressBar,
}

impl Builder {
    /// Makes sure that the sysroot is in the cache: seconds the first time, nothing later.
    pub fn new() -> anyhow::Result<Self> {
        let bar =
            ProgressBar::new(0).with_style(ProgressStyle::with_template("  {spinner} {msg} {pos}/{len}")?);
        let progress = |what: &str, done: u64, total: u64| show(&bar, what, done, total);
        let plain = Sysroot::ensure(&progress)?;
        Ok(Self { plain, strict_bounds: OnceLock::new(), folder: tempfile::tempdir()?, bar })
    }

    fn strict_bounds(&self) -> anyhow::Result<&Sysroot> {
        if let Some(known) = self.strict_bounds.get() {
            return Ok(known);
        }
        let made = Sysroot::ensure_strict_bounds(&|what, done, total| show(&self.bar, what, done, total))?;
        Ok(self.strict_bounds.get_or_init(|| made))
    }

    /// The folder for everything that is built; removed with the builder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Compiles `source` with the ordinary compiler and musl's headers to an ordinary object.
    pub fn compile(&self, source: &Path, flags: &[String], name: &str) -> anyhow::Result<PathBuf> {
        self.bar.set_message(format!("gcc {}", source.display()));
        let object = self.folder().join(name).with_extension("o");
        let tools: &Tools = self.plain.tools();
        run(tools.compiler().args(flags).arg("-c").arg(source).arg("-o").arg(&object))?;
        Ok(object)
    }

    /// Rewrites, links and verifies `object` into a module that exports `exports`.
    pub fn link(
        &self,
        object: &Path,
        exports: &[&str],
        strict_bounds: bool,
    ) -> anyhow::Result<(PathBuf, LinkOutcome)> {
        let module = object.with_extension(if strict_bounds { "strict_bounds.lg" } else { "lg" });
        let mut link = Link::new(&module);
        link.file(object)?;
        for export in exports {
            link.export(export)?;
        }
        let sysroot = if strict_bounds { self.strict_bounds()? } else { &self.plain };
        let outcome = link.run(sysroot, &|what, done, total| show(&self.bar, what, done, total))?;
        self.bar.finish_and_clear();
        Ok((module, outcome))
    }
}

fn show(bar: &ProgressBar, what: &str, done: u64, total: u64) {
    bar.set_message(what.to_owned());
    bar.set_length(total);
    bar.set_position(done);
}

/// Runs a command to its end; an error shows what it wrote.
pub fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
