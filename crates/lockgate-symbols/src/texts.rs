//! Names and paths from a module's debug information, which may be hostile: each is kept once, and all together are no longer than
//! there is room for.
use gimli::{AttributeValue, EndianSlice, LineProgramHeader, LittleEndian};
use lockgate_outside::LONGEST_MANGLED;
use std::collections::HashMap;
use std::sync::Arc;

/// Longest name that is shown, bytes.
const MAX_NAME: usize = 200;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The number of a text that there is none of.
pub(super) const NONE: u32 = u32::MAX;

/// Texts by number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: Vec<Arc<str>>,
    known: HashMap<Arc<str>, u32>,
    /// Bytes that may follow.
    room: usize,
}

impl Texts {
    /// For texts that are together no longer than the file that they come from: a few bytes of it can name a long text, many times.
    pub(super) fn of(file: &[u8]) -> Texts {
        Texts { room: file.len(), ..Texts::default() }
    }

    /// The number of a text; [`NONE`] if it is none, or too much.
    pub(super) fn intern(&mut self, text: Option<String>) -> u32 {
        let Some(text) = text else { return NONE };
        if let Some(known) = self.known.get(text.as_str()) {
            return *known;
        }
        let Some(room) = self.room.checked_sub(text.len()) else { return NONE };
        let (text, number) = (Arc::<str>::from(text), self.all.len() as u32);
        self.room = room;
        self.all.push(text.clone());
        self.known.insert(text, number);
        number
    }

    /// A text by its number.
    pub(super) fn get(&self, number: u32) -> Option<&str> {
        self.all.get(number as usize).map(|text| &**text)
    }
}

/// Path of file number `index` of a line program: its directory, if it is not the one that the compiler ran in,
/// and its name.
pub(super) fn file_name(header: &LineProgramHeader<Slice<'_>>, index: u64, strings: &[u8]) -> Option<String> {
    let text = |value: AttributeValue<Slice<'_>>| match value {
        AttributeValue::String(bytes) => Some(printable(bytes.slice())),
        AttributeValue::DebugLineStrRef(at) => Some(text(strings, at.0)),
        _ => None,
    };
    let file = header.file(index)?;
    let name = text(file.path_name())?;
    if name.starts_with('/') || file.directory_index() == 0 {
        return Some(name);
    }
    match file.directory(header).and_then(text) {
        Some(directory) if !directory.is_empty() => Some(format!("{directory}/{name}")),
        _ => Some(name),
    }
}

/// The zero-terminated string at `offset` of a table, or as much of it as is shown.
pub(super) fn text(table: &[u8], offset: usize) -> String {
    let rest = table.get(offset..).unwrap_or_default();
    let rest = &rest[..rest.len().min(MAX_NAME)];
    printable(rest.split(|&byte| byte == 0).next().unwrap_or_default())
}

/// `bytes` as text that is safe to print on a terminal, no longer than is shown.
pub fn printable(bytes: &[u8]) -> String {
    lockgate_outside::printable_bytes(&bytes[..bytes.len().min(MAX_NAME)])
}

/// The name of a function: one of C++ or Rust may be longer than others, for it is shorter in words, as long as there is room for such.
pub(super) fn symbol_name(table: &[u8], offset: usize, room: &mut usize) -> String {
    let rest = table.get(offset..).unwrap_or_default();
    let rest = &rest[..rest.len().min(LONGEST_MANGLED)];
    if !is_mangled(rest) || rest.len() > *room {
        return text(table, offset);
    }
    let name = rest.split(|&byte| byte == 0).next().unwrap_or_default();
    *room -= name.len();
    lockgate_outside::printable_bytes(name)
}

/// A name that an entry of the debug information has for the linker, as long as such may be.
pub(super) fn linkage_name(name: &[u8]) -> String {
    let longest = if is_mangled(name) { LONGEST_MANGLED } else { MAX_NAME };
    lockgate_outside::printable_bytes(&name[..name.len().min(longest)])
}

/// Whether a compiler of C++ or Rust has made it.
fn is_mangled(name: &[u8]) -> bool {
    name.starts_with(b"_Z") || name.starts_with(b"_R")
}

/// A function's name as reports show it. `room`: bytes of the calling thread's stack that it may take to make it readable.
pub fn shown(name: &str, room: usize) -> String {
    let readable = lockgate_outside::demangled_short(name, room);
    let mut name = readable.unwrap_or_else(|| name.to_owned());
    if name.len() > MAX_NAME {
        let end = (0..=MAX_NAME).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
        name.truncate(end);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_and_only_while_there_is_room() {
        let mut texts = Texts::of(&[0; 6]);
        let numbers = ["abc", "abc", "de", "fg", "h"].map(|text| texts.intern(Some(text.to_owned())));
        assert_eq!(numbers, [0, 0, 1, NONE, 2]);
        assert_eq!(texts.intern(None), NONE);
        assert_eq!(
            [0, 1, 2, NONE].map(|number| texts.get(number)),
            [Some("abc"), Some("de"), Some("h"), None]
        );
    }

    /// Many symbols that share one long name without an end cost no more than the same number of short ones.
    #[test]
    fn long_names_are_not_searched() {
        let names = vec![b'n'; 4 << 20];
        let started = std::time::Instant::now();
        for _ in 0..100_000 {
            assert_eq!(text(&names, 1).len(), MAX_NAME);
        }
        assert!(started.elapsed().as_secs() < 5);
    }

    #[test]
    fn names_cannot_write_to_the_terminal() {
        assert_eq!(printable(b"f\x1b[2J\n\xff"), "f?[2J??");
    }
}
