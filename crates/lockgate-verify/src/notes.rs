//! The notes of a module (`lockgate_abi::note`).

use crate::elf::{File, ParseError, error};
use crate::frame::State;
use lockgate_abi::{ABI_VERSION, gate, note, window};
use std::collections::BTreeMap;

/// A host procedure that the module calls through a gate.
#[derive(Debug, Clone)]
pub struct Import {
    /// Name.
    pub name: String,
    /// C prototype from the notes, if known.
    pub signature: Option<String>,
    /// Slot of the gate table.
    pub slot: u16,
}

/// A symbol that others define.
#[derive(Debug, Clone)]
pub struct Symbolic {
    /// Name.
    pub name: String,
    /// C prototype from the notes, if known.
    pub signature: Option<String>,
    /// It is a function of the host; else an export of another module.
    pub of_host: bool,
}

/// What the notes say. Later notes of the same type continue earlier ones, except [`note::ABI`] and [`note::STATES`],
/// which occur once.
#[derive(Default)]
pub(crate) struct Notes {
    abi_seen: bool,
    pub strict_bounds: bool,
    /// Name and, if known, prototype of each export.
    pub exports: BTreeMap<String, Option<String>>,
    /// By slot.
    pub imports: Vec<Import>,
    pub sources: Vec<(String, String)>,
    pub base: bool,
    /// Files of the modules that a module which joins takes symbols from: hash and name.
    pub join: Vec<(String, String)>,
    /// Those symbols, by name.
    pub words: BTreeMap<String, Symbolic>,
    /// Where rsp is at starts of regions: image-relative address and state, in strictly ascending order.
    pub states: Option<Vec<(u64, State)>>,
}

const REMEDY: &str = "the notes are damaged or made by other tools: link the module again with `lockgate cc`";

impl Notes {
    /// Reads one PT_NOTE segment, `size` bytes at `offset`; notes of other owners are skipped.
    pub(crate) fn read(
        &mut self,
        file: File<'_>,
        offset: u64,
        size: u64,
        align: u64,
    ) -> Result<(), ParseError> {
        let align = if align == 8 { 8 } else { 4 };
        let area = File(file.slice(offset, size)?);
        let located = |e: ParseError| ParseError { offset: e.offset + offset, ..e };
        let mut at = 0;
        while at < size {
            let name_size = area.u32(at).map_err(located)?;
            let desc_size = area.u32(at + 4).map_err(located)?;
            let kind = area.u32(at + 8).map_err(located)?;
            let name = area.slice(at + 12, name_size.into()).map_err(located)?;
            let desc_at = (at + 12 + u64::from(name_size)).next_multiple_of(align);
            let desc = area.slice(desc_at, desc_size.into()).map_err(located)?;
            if name.strip_suffix(&[0]) == Some(note::NAME.as_bytes()) {
                self.take(kind, desc, offset + desc_at)?;
            }
            at = (desc_at + u64::from(desc_size)).next_multiple_of(align);
        }
        Ok(())
    }

    /// Checks what can be checked only when all notes are read.
    pub(crate) fn finish(&mut self) -> Result<(), ParseError> {
        if !self.abi_seen {
            return Err(error(
                "it has no Lockgate note",
                0,
                "not a Lockgate module: link it with `lockgate cc`",
            ));
        }
        if self.join.is_empty() && !self.words.is_empty() {
            let what = "it takes symbols from other modules and does not say from which";
            return Err(error(what, 0, REMEDY));
        }
        if self.join.len() > 1 + window::JOINED {
            let what =
                format!("it takes symbols from {} modules (at most {})", self.join.len(), 1 + window::JOINED);
            return Err(error(what, 0, "link fewer into one domain"));
        }
        if !self.join.is_empty() && !self.imports.is_empty() {
            let what = "it joins a domain, whose gates are the base's, and has imports of its own";
            return Err(error(what, 0, REMEDY));
        }
        if !self.join.is_empty() && self.base {
            return Err(error("it joins a domain, and says it is a base", 0, REMEDY));
        }
        self.imports.sort_by_key(|import| import.slot);
        match self.imports.windows(2).find(|pair| pair[0].slot == pair[1].slot) {
            Some(pair) => Err(error(format!("two imports use gate slot {}", pair[0].slot), 0, REMEDY)),
            None => Ok(()),
        }
    }

    fn take(&mut self, kind: u32, desc: &[u8], offset: u64) -> Result<(), ParseError> {
        let wrong = |what: String| error(what, offset, REMEDY);
        match kind {
            note::ABI => return self.take_abi(desc, offset),
            note::STATES if self.states.is_some() => return Err(wrong("two STATES notes".into())),
            note::STATES => {
                let states = states(desc).ok_or_else(|| wrong("the STATES note is damaged".into()))?;
                self.states = Some(states);
                return Ok(());
            }
            _ => (),
        }
        if !matches!(kind, note::EXPORTS | note::IMPORTS | note::SOURCES | note::JOIN | note::WORDS) {
            return Err(wrong(format!("note type {kind} is unknown")));
        }
        let text = std::str::from_utf8(desc).map_err(|_| wrong("a note is not UTF-8".into()))?;
        for line in text.trim_end_matches('\0').lines().filter(|line| !line.is_empty()) {
            if line.chars().any(char::is_control) {
                return Err(wrong("a note line holds control characters".into()));
            }
            match kind {
                note::EXPORTS => {
                    let (name, signature) =
                        prototype(line).ok_or_else(|| wrong(format!("no name in '{line}'")))?;
                    if self.exports.insert(name.clone(), signature).is_some() {
                        return Err(wrong(format!("export '{name}' is noted twice")));
                    }
                }
                note::IMPORTS => {
                    let import = import(line).ok_or_else(|| wrong(format!("'{line}' is not an import")))?;
                    // (Each is compared with all: there are no more of them than slots.)
                    if self.imports.len() as u64 == gate::SLOTS - gate::FIRST_IMPORT {
                        return Err(wrong(format!(
                            "'{}' is one import more than there are gates",
                            import.name
                        )));
                    }
                    if self.imports.iter().any(|known| known.name == import.name) {
                        return Err(wrong(format!("import '{}' is noted twice", import.name)));
                    }
                    self.imports.push(import);
                }
                note::WORDS => {
                    let word =
                        symbolic(line).ok_or_else(|| wrong(format!("'{line}' is not a symbol's source")))?;
                    let name = word.name.clone();
                    if self.words.insert(name, word).is_some() {
                        return Err(wrong(format!("a symbol is noted twice: '{line}'")));
                    }
                }
                _ => {
                    let source =
                        source(line).ok_or_else(|| wrong(format!("'{line}' is not a file's hash")))?;
                    if kind == note::JOIN { &mut self.join } else { &mut self.sources }.push(source);
                }
            }
        }
        Ok(())
    }

    fn take_abi(&mut self, desc: &[u8], offset: u64) -> Result<(), ParseError> {
        if self.abi_seen || desc.len() != 8 {
            return Err(error("the ABI note is not one note of 8 bytes", offset, REMEDY));
        }
        let (version, flags) = (File(desc).u32(0)?, File(desc).u32(4)?);
        if version != ABI_VERSION {
            let what =
                format!("it is made for version {version} of the code model; this is version {ABI_VERSION}");
            return Err(error(what, offset, "rewrite it again: build it with this version's `lockgate cc`"));
        }
        if flags & !(note::FLAG_STRICT_BOUNDS | note::FLAG_BASE) != 0 {
            return Err(error(format!("unknown flags {flags:#x} in the ABI note"), offset, REMEDY));
        }
        let has = |flag| flags & flag != 0;
        (self.abi_seen, self.strict_bounds, self.base) =
            (true, has(note::FLAG_STRICT_BOUNDS), has(note::FLAG_BASE));
        Ok(())
    }
}

/// The function's name and, if `line` is more than a bare name, the prototype itself.
fn prototype(line: &str) -> Option<(String, Option<String>)> {
    let is_name = |c: char| c.is_alphanumeric() || "_.$@".contains(c);
    let Some((head, _)) = line.split_once('(') else {
        return line.chars().all(is_name).then(|| (line.to_owned(), None));
    };
    let head = head.trim_end();
    let name = head.rsplit(|c| !is_name(c)).next().filter(|name| !name.is_empty())?;
    Some((name.to_owned(), Some(line.to_owned())))
}

/// `"16 double cbrt(double)"`.
fn import(line: &str) -> Option<Import> {
    let (slot, line) = line.split_once(' ')?;
    let slot = slot.parse::<u16>().ok()?;
    let (name, signature) = prototype(line)?;
    (gate::FIRST_IMPORT..gate::SLOTS).contains(&slot.into()).then_some(Import { name, signature, slot })
}

/// `"module double cbrt(double)"`.
fn symbolic(line: &str) -> Option<Symbolic> {
    let (from, line) = line.split_once(' ')?;
    let (name, signature) = prototype(line)?;
    let of_host = from == note::FROM_HOST;
    (of_host || from == note::FROM_MODULE).then_some(Symbolic { name, signature, of_host })
}

/// `"<64 hexadecimal digits>  <file name>"`.
fn source(line: &str) -> Option<(String, String)> {
    let (hash, name) = line.split_once("  ")?;
    (hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| (hash.to_owned(), name.to_owned()))
}

/// The entries of [`note::STATES`].
fn states(mut desc: &[u8]) -> Option<Vec<(u64, State)>> {
    let (mut states, mut address) = (Vec::new(), 0);
    while !desc.is_empty() {
        let distance = uleb128(&mut desc)?;
        if distance == 0 && !states.is_empty() {
            return desc.iter().all(|&byte| byte == 0).then_some(states);
        }
        address += u64::from(distance);
        let tag = uleb128(&mut desc)?;
        let first = (tag / 2).checked_mul(8)?;
        let state = match tag % 2 {
            0 => State::S { o: first },
            _ => State::C { b: first, d: uleb128(&mut desc)?.checked_mul(8)? },
        };
        states.push((address, state));
    }
    Some(states)
}

/// Takes a number of at most 32 bits (DWARF 5, 7.6).
fn uleb128(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many lines there are, no more are compared than there are gates.
    #[test]
    fn imports_are_no_more_than_gates() {
        let lines = |count: u32| (0..count).map(|i| format!("16 i{i}\n")).collect::<String>();
        let most = (gate::SLOTS - gate::FIRST_IMPORT) as u32;
        let take = |count| Notes::default().take(note::IMPORTS, lines(count).as_bytes(), 0);
        assert!(take(most).is_ok());
        let refused = take(most + 1).expect_err("too many").to_string();
        assert!(refused.contains("one import more than there are gates"), "{refused}");
    }
}
