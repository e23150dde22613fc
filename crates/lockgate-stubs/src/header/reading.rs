//! From a source to its declarations.
use super::error::ReadError;
use super::libclang_sys::Bodies;
use super::model::Header;
use super::parse::{errors, parse, unit};
use super::read::{Reader, Selection};
use super::source::{Source, file};
use super::{constants, looks, promises};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Reads the declarations of `source`.
///
/// # Errors
/// [`ReadError`].
pub fn read(source: &Source) -> Result<Header, ReadError> {
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
pub fn read_inside(source: &Source, system: &[String]) -> Result<Header, ReadError> {
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
) -> Result<Header, ReadError> {
    let unit = parse(text, origin, arguments, Bodies::Skipped)?;
    Reader::new(Selection::Names(names)).read(&unit)
}

/// The annotations as this program knows them, whatever else is on the include path.
fn folder_with_annotations() -> Result<lockgate_outside::Folder, ReadError> {
    let io = |error| ReadError::Io { path: std::env::temp_dir(), error };
    let folder = lockgate_outside::Folder::new().map_err(io)?;
    std::fs::create_dir(folder.path().join("lockgate")).map_err(io)?;
    std::fs::write(folder.path().join("lockgate/annotations.h"), crate::ANNOTATIONS_H).map_err(io)?;
    Ok(folder)
}
