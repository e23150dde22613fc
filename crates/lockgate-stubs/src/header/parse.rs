//! Text becomes a unit of libclang's.
use super::error::ReadError;
use super::libclang_sys::{self as libclang, Bodies, Contents};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// Parses `text` as gcc would on this machine. Errors name `origin` as its source.
///
/// # Errors
/// [`ReadError::NoLibclang`], [`ReadError::Parse`].
pub fn parse(
    text: &str,
    origin: &Path,
    arguments: Vec<String>,
    bodies: Bodies,
) -> Result<libclang::Unit, ReadError> {
    let unit = unit(text, origin, arguments, bodies)?;
    let errors = errors(&unit);
    if errors.is_empty() {
        Ok(unit)
    } else {
        Err(ReadError::Parse { header: origin.to_owned(), messages: errors.join("\n") })
    }
}

/// What a parser could not go on with as if nothing were wrong, a line each.
pub(super) fn errors(unit: &libclang::Unit) -> Vec<String> {
    unit.diagnostics().into_iter().filter(|d| d.error).map(|d| format!("  {}", d.text)).collect()
}

/// The same, whatever the compiler complains of.
pub(super) fn unit(
    text: &str,
    origin: &Path,
    arguments: Vec<String>,
    bodies: Bodies,
) -> Result<libclang::Unit, ReadError> {
    unit_of(Path::new(UNIT), Contents::Given(text), origin, arguments, bodies)
}

/// Parses a source as it lies on the disk, without the bodies of functions, whatever the compiler complains of: for those who ask in
/// which file something is written, which the text itself cannot say.
///
/// # Errors
/// [`ReadError::NoLibclang`], [`ReadError::Parse`].
pub fn parse_file(source: &Path, arguments: Vec<String>) -> Result<libclang::Unit, ReadError> {
    unit_of(source, Contents::Files, source, arguments, Bodies::Skipped)
}

fn unit_of(
    file: &Path,
    contents: Contents<'_>,
    origin: &Path,
    arguments: Vec<String>,
    bodies: Bodies,
) -> Result<libclang::Unit, ReadError> {
    libclang::load().map_err(ReadError::NoLibclang)?;
    // What C allows is gcc's to say, which has compiled it: of libclang's complaints, later versions call some errors that others call
    // warnings.
    let mut all: Vec<String> =
        ["-xc", "-std=gnu11", "--target=x86_64-linux-gnu", "-Wno-everything"].map(str::to_owned).into();
    all.extend(arguments);
    all.extend(compiler_headers().map(|folder| format!("-isystem{folder}")));
    let failed = |messages| ReadError::Parse { header: origin.to_owned(), messages };
    libclang::Unit::parse(file, contents, &all, bodies).map_err(failed)
}

/// Name of the file that [`parse`] gives to libclang.
pub const UNIT: &str = "lockgate-stubs.c";

/// The folder of the compiler's own headers (`stddef.h`): the library libclang comes without.
fn compiler_headers() -> Option<&'static String> {
    static FOLDER: LazyLock<Option<String>> = LazyLock::new(|| {
        let output = Command::new("gcc").arg("-print-file-name=include").output().ok()?;
        let folder = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        Path::new(&folder).is_absolute().then_some(folder)
    });
    FOLDER.as_ref()
}
