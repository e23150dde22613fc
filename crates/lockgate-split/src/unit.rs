//! What travels in an object: the parts of its source, and what the link must know of them.

use crate::Error;
use crate::consent::Consent;
use crate::survey::{Domain, Home};
use lockgate_stubs::header::model::Place;
use object::{Object as _, ObjectSection as _};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The section of the host's object; ld leaves it out of programs.
pub const SECTION: &str = ".lockgate.split";

/// Changes when [`Unit`] does.
const VERSION: u32 = 6;

/// One annotated source, compiled.
#[derive(Debug, Serialize, Deserialize)]
pub struct Unit {
    version: u32,
    /// Its path.
    pub source: String,
    /// The options of its compilation that decide what its types are.
    pub types: Vec<String>,
    /// Domains that it speaks of.
    pub domains: Vec<Domain>,
    /// What it defines for others.
    pub definitions: Vec<Defined>,
    /// What its parts use of others.
    pub uses: Vec<Used>,
    /// What it says literally.
    pub consent: Consent,
    /// Its declarations, in order: file, line, text.
    pub interface: Vec<(String, u32, String)>,
    /// The same as domains see them, with the headers of their C library; nothing of a source that has no part in any.
    pub inside: Vec<(String, u32, String)>,
    /// Its objects for domains, in the order in which their bytes follow.
    pub parts: Vec<Home>,
    /// Those objects.
    #[serde(skip)]
    pub objects: Vec<Vec<u8>>,
}

/// A function or variable with a name of its own in the program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Defined {
    pub name: String,
    pub function: bool,
    pub home: Home,
    pub entry: bool,
    pub place: (String, u32),
}

/// A reference that one part makes to what is defined elsewhere.
#[derive(Debug, Serialize, Deserialize)]
pub struct Used {
    pub by: Home,
    pub name: String,
    pub function: bool,
    pub place: (String, u32),
}

/// A place for storage.
pub fn stored(place: &Place) -> (String, u32) {
    (place.file.clone(), place.line)
}

/// A place from storage.
pub fn place((file, line): &(String, u32)) -> Place {
    Place { file: file.clone(), line: *line }
}

impl Unit {
    /// A unit of this version, with nothing in it.
    pub fn new(source: &str) -> Unit {
        Unit {
            version: VERSION,
            source: source.to_owned(),
            types: Vec::new(),
            domains: Vec::new(),
            definitions: Vec::new(),
            uses: Vec::new(),
            consent: Consent::default(),
            interface: Vec::new(),
            inside: Vec::new(),
            parts: Vec::new(),
            objects: Vec::new(),
        }
    }

    /// The section's bytes: each part with its length before it, so that sections of several objects (`ld -r`) can follow one
    /// another.
    pub fn to_bytes(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("all keys are strings");
        let mut bytes = Vec::new();
        for part in std::iter::once(&json).chain(&self.objects) {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }

    fn all(mut bytes: &[u8]) -> Option<Vec<Unit>> {
        let mut units = Vec::new();
        while !bytes.is_empty() {
            let mut unit: Unit = serde_json::from_slice(take(&mut bytes)?).ok()?;
            if unit.version != VERSION {
                return None;
            }
            for _ in 0..unit.parts.len() {
                unit.objects.push(take(&mut bytes)?.to_vec());
            }
            units.push(unit);
        }
        Some(units)
    }
}

/// The next part.
fn take<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_at_checked(8)?;
    let length = u64::from_le_bytes(length.try_into().ok()?);
    let (part, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(part)
}

/// One object of a link: its units, and the symbols that it wants from others.
#[derive(Debug)]
pub struct Contents {
    /// Name, for messages.
    pub name: String,
    /// Its annotated sources; none for an ordinary object.
    pub units: Vec<Unit>,
    /// Undefined symbols.
    pub undefined: Vec<String>,
    /// Symbols that it defines for others.
    pub defined: Vec<String>,
}

/// Reads an object, or an archive's members. What is neither has no contents: the linker will judge it.
///
/// # Errors
/// [`Error::Io`], [`Error::Version`].
pub fn read(path: &Path) -> Result<Vec<Contents>, Error> {
    let bytes = lockgate_outside::read(path).map_err(Error::io("read", path))?;
    let mut found = Vec::new();
    if let Ok(archive) = object::read::archive::ArchiveFile::parse(&*bytes) {
        for member in archive.members().flatten() {
            let name = format!("{}({})", path.display(), String::from_utf8_lossy(member.name()));
            if let Ok(data) = member.data(&*bytes) {
                found.extend(contents(data, name, path)?);
            }
        }
    } else {
        found.extend(contents(&bytes, path.display().to_string(), path)?);
    }
    Ok(found)
}

fn contents(bytes: &[u8], name: String, path: &Path) -> Result<Option<Contents>, Error> {
    use object::ObjectSymbol as _;
    let Ok(file) = object::File::parse(bytes) else { return Ok(None) };
    if file.kind() != object::ObjectKind::Relocatable {
        return Ok(None);
    }
    let units = match file.section_by_name_bytes(SECTION.as_bytes()).map(|section| section.data()) {
        Some(Ok(data)) => Unit::all(data).ok_or_else(|| Error::Version(path.to_owned()))?,
        _ => Vec::new(),
    };
    let names = |of: fn(&object::Symbol<'_, '_>) -> bool| -> Vec<String> {
        let symbols = file.symbols().filter(of);
        symbols.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect()
    };
    let undefined = names(|symbol| symbol.is_undefined());
    let defined = names(|symbol| symbol.is_global() && !symbol.is_undefined());
    Ok(Some(Contents { name, units, undefined, defined }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_one_another() {
        let unit =
            |name: &str| Unit { parts: vec![Home::Everywhere], objects: vec![vec![1, 2]], ..Unit::new(name) };
        let bytes = [unit("a.c").to_bytes(), unit("b.c").to_bytes()].concat();
        let units = Unit::all(&bytes).expect("they are whole");
        assert_eq!(units.iter().map(|u| u.source.as_str()).collect::<Vec<_>>(), ["a.c", "b.c"]);
        assert_eq!(units[1].objects, [[1, 2]]);
        assert!(Unit::all(&bytes[..bytes.len() - 1]).is_none(), "half a unit");
    }
}
