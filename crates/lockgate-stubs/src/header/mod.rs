//! From a header to its declarations: libclang reads it, [`model`] is what is kept.
mod comment;
mod constants;
mod layout;
pub mod libclang_sys;
mod looks;
pub mod model;
mod promises;
mod read;

use libclang_sys::{self as libclang, Bodies, Contents};
pub use read::{POINTERS, merge, notes};
use read::{Reader, Selection};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// What to read, and how the API's programs are compiled.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The API's header.
    pub header: PathBuf,
    /// Separate files with annotations, which redeclare what they annotate.
    pub annotations: Vec<PathBuf>,
    /// Include folders.
    pub includes: Vec<PathBuf>,
    /// Macros, `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
}

impl Source {
    /// Flags by which a compiler finds the header and what it includes, with absolute paths. What lies beside the header is found, but never in place
    /// of the system's: libraries have a `stdint.h` for other compilers there.
    ///
    /// # Errors
    /// [`ReadError::Io`] if a folder is not there.
    pub fn folders(&self) -> Result<Vec<String>, ReadError> {
        let flag = |flag: &str, path: &Path| Ok(format!("{flag}{}", absolute(path)?.display()));
        let beside = self.beside()?;
        let beside = beside.iter().map(|folder| flag("-idirafter", folder));
        self.includes.iter().map(|folder| flag("-I", folder)).chain(beside).collect()
    }

    /// The folder that the header lies in, unless `includes` names it: compilers take a folder that is given twice for one of the system's,
    /// and what it has is then found behind what the system has.
    fn beside(&self) -> Result<Option<PathBuf>, ReadError> {
        let folder = absolute(&self.header)?.parent().map(Path::to_owned);
        let named = self.includes.iter().map(|folder| absolute(folder)).collect::<Result<Vec<_>, _>>()?;
        Ok(folder.filter(|folder| !named.contains(folder)))
    }

    /// How programs include the header: by its path in the folder of `includes` that it lies in, else by its name.
    ///
    /// # Errors
    /// [`ReadError::Io`] if a folder is not there.
    pub fn name(&self) -> Result<String, ReadError> {
        let header = absolute(&self.header)?;
        let mut shortest: Option<PathBuf> = None;
        for folder in &self.includes {
            if let Ok(path) = header.strip_prefix(absolute(folder)?)
                && shortest
                    .as_ref()
                    .is_none_or(|known| path.components().count() < known.components().count())
            {
                shortest = Some(path.to_owned());
            }
        }
        let name = shortest.unwrap_or_else(|| header.file_name().unwrap_or_default().into());
        Ok(name.to_string_lossy().into_owned())
    }
}

fn absolute(path: &Path) -> Result<PathBuf, ReadError> {
    path.canonicalize().map_err(|error| ReadError::Io { path: path.to_owned(), error })
}

/// Where a file is, if it is one that a source can include: the compiler would wait for a writer of a FIFO.
fn file(path: &Path) -> Result<PathBuf, ReadError> {
    let io = |error| ReadError::Io { path: path.to_owned(), error };
    lockgate_outside::examine(path).map_err(io)?;
    let absolute = absolute(path)?;
    match absolute.to_str() {
        Some(text) if !text.contains(['"', '\n']) => Ok(absolute),
        _ => Err(io(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "no source can include it: its path has a quotation mark or a new line, or is not UTF-8",
        ))),
    }
}

/// Why a header could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// libclang is not installed.
    #[error(
        "libclang was not found: install it (Debian and Ubuntu: apt-get install libclang1, or libclang1-14 and later), or set LIBCLANG_PATH to the folder with libclang.so; {0}"
    )]
    NoLibclang(String),
    /// A file is missing.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is no C, or something that it includes was not found.
    #[error("{header} does not parse; give the flags that its programs are compiled with (-I, -D):\n{messages}", header = header.display())]
    Parse {
        /// The header.
        header: PathBuf,
        /// One line for each error.
        messages: String,
    },
    /// Nothing to protect.
    #[error("{header} declares no function itself; name the header that does, not one that only includes it", header = header.display())]
    Empty {
        /// The header.
        header: PathBuf,
    },
    /// An annotation is wrong by itself.
    #[error("{place}: {declaration}: {error}")]
    Note {
        /// Where.
        place: model::Place,
        /// Of what.
        declaration: String,
        /// What is wrong.
        error: Box<crate::annotation::NoteError>,
    },
    /// No real header is like this.
    #[error(
        "it has more than a million types: those of functions that take functions, which take functions, are too many"
    )]
    TooMuch,
    /// Its library has no name that can be one.
    #[error("{header}: {why}", header = header.display())]
    Name {
        /// The header.
        header: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// An annotation is about something that does not exist.
    #[error("{place}: {what}")]
    Stray {
        /// Where.
        place: model::Place,
        /// What is missing.
        what: String,
    },
}

/// Reads the declarations of `source`.
///
/// # Errors
/// [`ReadError`].
pub fn read(source: &Source) -> Result<model::Header, ReadError> {
    let Reading { header, annotations, text, arguments, own: _own } = Reading::of(source, &[])?;
    // Bodies are wanted for what they read of structures only: with errors in them it is a header all the same.
    let whole = unit(&text, &header, arguments.clone(), Bodies::Read)?;
    let declarations = match errors(&whole).is_empty() {
        true => None,
        false => Some(parse(&text, &header, arguments.clone(), Bodies::Skipped)?),
    };
    let beside = header.parent().map(Path::to_owned);
    let folders: Vec<PathBuf> = beside.into_iter().chain(source.includes.iter().cloned()).collect();
    let path = header.clone();
    let mut files = vec![header];
    files.extend(annotations);
    let mut header = Reader::new(Selection::Files(files)).read(declarations.as_ref().unwrap_or(&whole))?;
    if header.functions.is_empty() {
        return Err(ReadError::Empty { header: path });
    }
    promises::of_others(&mut header.functions, &path, &text, &arguments);
    let asked = header.names_asked();
    let spelled = std::mem::take(&mut header.spelled);
    let macros = constants::of_macros(&path, &text, arguments, &asked, &spelled);
    let enumerator = |name: &String| header.enumerators.contains_key(name);
    let numbers = macros.numbers.into_iter().map(|(name, number)| {
        let is_macro = !enumerator(&name);
        (name, (number, is_macro))
    });
    header.numbers = numbers.collect();
    header.constants.extend(macros.constants);
    header.known.extend(macros.known);
    header.looks = looks::of_header(&whole, &path, &folders);
    Ok(header)
}

/// Reads the same declarations as modules are compiled with them, whose C library's headers `system`, arguments for libclang, finds; or says
/// why that cannot be done.
///
/// # Errors
/// [`ReadError`].
pub fn read_inside(source: &Source, system: &[String]) -> Result<model::Header, ReadError> {
    let Reading { header, annotations, text, arguments, own: _own } = Reading::of(source, system)?;
    let unit = parse(&text, &header, arguments, Bodies::Skipped)?;
    let files = std::iter::once(header).chain(annotations).collect();
    Reader::new(Selection::Files(files)).read(&unit)
}

/// What libclang is given to read a header.
struct Reading {
    header: PathBuf,
    annotations: Vec<PathBuf>,
    text: String,
    arguments: Vec<String>,
    /// The annotations' header, as long as it is read.
    own: lockgate_outside::Folder,
}

impl Reading {
    /// `system` says where the C library's headers are, if not where libclang looks for them.
    fn of(source: &Source, system: &[String]) -> Result<Reading, ReadError> {
        let header = file(&source.header)?;
        let annotations = source.annotations.iter().map(|path| file(path)).collect::<Result<Vec<_>, _>>()?;
        let mut text = format!("#include <lockgate/annotations.h>\n#include \"{}\"\n", header.display());
        for file in &annotations {
            text += &format!("#include \"{}\"\n", file.display());
        }
        let own = folder_with_annotations()?;
        let mut arguments = vec!["-DLOCKGATE_STUBS=1".to_owned()];
        let folders = [own.path().to_owned()].into_iter();
        for folder in folders.chain(source.includes.iter().cloned()) {
            arguments.push(format!("-I{}", folder.display()));
        }
        arguments.extend(system.iter().cloned());
        arguments.extend(source.beside()?.iter().map(|folder| format!("-idirafter{}", folder.display())));
        arguments.extend(source.defines.iter().map(|define| format!("-D{define}")));
        Ok(Reading { header, annotations, text, arguments, own })
    }
}

/// Reads the declarations of `names`, and whatever they need, in `text`, which is C; libclang finds what that includes by `arguments`.
/// Errors name `origin` as the source.
///
/// # Errors
/// [`ReadError`].
pub fn read_text(
    text: &str,
    origin: &Path,
    names: BTreeSet<String>,
    arguments: Vec<String>,
) -> Result<model::Header, ReadError> {
    let unit = parse(text, origin, arguments, Bodies::Skipped)?;
    Reader::new(Selection::Names(names)).read(&unit)
}

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
fn errors(unit: &libclang::Unit) -> Vec<String> {
    unit.diagnostics().into_iter().filter(|d| d.error).map(|d| format!("  {}", d.text)).collect()
}

/// The same, whatever the compiler complains of.
fn unit(
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

/// The annotations as this program knows them, whatever else is on the include path.
fn folder_with_annotations() -> Result<lockgate_outside::Folder, ReadError> {
    let io = |error| ReadError::Io { path: std::env::temp_dir(), error };
    let folder = lockgate_outside::Folder::new().map_err(io)?;
    std::fs::create_dir(folder.path().join("lockgate")).map_err(io)?;
    std::fs::write(folder.path().join("lockgate/annotations.h"), crate::ANNOTATIONS_H).map_err(io)?;
    Ok(folder)
}

/// The folder of the compiler's own headers (`stddef.h`): the library libclang comes without.
fn compiler_headers() -> Option<&'static String> {
    static FOLDER: LazyLock<Option<String>> = LazyLock::new(|| {
        let output = Command::new("gcc").arg("-print-file-name=include").output().ok()?;
        let folder = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        Path::new(&folder).is_absolute().then_some(folder)
    });
    FOLDER.as_ref()
}
