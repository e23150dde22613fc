//! The object that the driver itself adds to a module: notes, import thunks, room for the headers.

use crate::join::{Foreign, Provider};
use crate::writer::{self, Object, Section};
use crate::{Error, Prototype, layout};
use lockgate_abi::{ABI_VERSION, code, gate, header, note, window};
use std::path::{Path, PathBuf};

/// What a module says about itself (`lockgate_abi::note`).
pub(crate) struct Notes<'a> {
    pub exports: &'a [Prototype],
    pub imports: &'a [Prototype],
    /// BLAKE3 hash and name of each input.
    pub sources: &'a [(blake3::Hash, String)],
    pub strict_bounds: bool,
    /// Others may join its domains.
    pub base: bool,
    /// Where rsp is in its code ([`crate::layout::states`]).
    pub states: &'a [u8],
    /// What it has from the modules that it joins; it has no gates of its own then.
    pub join: Option<(&'a [Provider], &'a Foreign)>,
}

/// Frame information of a function that never moves rsp (docs/decisions/0004-cfa-is-a-data-address.md): the canonical
/// frame address lies on the data stack, the return address (column 16) and the caller's rsp on the control stack.
pub(crate) fn leaf_frame() -> String {
    let off = code::OFF;
    format!(
        ".cfi_startproc simple; .cfi_def_cfa rsp, 8-{off}; .cfi_offset 16, {off}-8; .cfi_val_offset rsp, {off}"
    )
}

/// Makes the object in `folder`.
///
/// # Errors
/// [`Error::Usage`] if there are more imports than gates; [`Error::Io`].
pub(crate) fn make(folder: &Path, notes: &Notes<'_>) -> Result<PathBuf, Error> {
    let mut object = Object::default();
    object.section(Section::Headers).resize(layout::HEADERS as usize, 0);
    *object.section(Section::Notes) = notes.bytes();
    match notes.join {
        Some((_, foreign)) => foreign_functions(&mut object, foreign),
        None => gates(&mut object, notes.imports)?,
    }
    let path = folder.join("glue.o");
    std::fs::write(&path, object.write()).map_err(Error::io("write", &path))?;
    Ok(path)
}

impl Notes<'_> {
    fn bytes(&self) -> Vec<u8> {
        let lines = |lines: Vec<String>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let flags = [(self.strict_bounds, note::FLAG_STRICT_BOUNDS), (self.base, note::FLAG_BASE)];
        let flags = flags.iter().filter(|(is, _)| *is).fold(0, |flags, (_, flag)| flags | flag);
        let mut notes = Vec::new();
        append(&mut notes, note::ABI, &[ABI_VERSION.to_le_bytes(), flags.to_le_bytes()].concat());
        let exports = self.exports.iter().map(|export| export.text().to_owned()).collect();
        append(&mut notes, note::EXPORTS, lines(exports).as_bytes());
        if let Some((providers, foreign)) = self.join {
            let modules =
                providers.iter().map(|provider| format!("{}  {}", provider.hash.to_hex(), provider.name));
            append(&mut notes, note::JOIN, lines(modules.collect()).as_bytes());
            let from = |of_host| if of_host { note::FROM_HOST } else { note::FROM_MODULE };
            let words =
                foreign.words.iter().map(|word| format!("{} {}", from(word.of_host), word.text)).collect();
            append(&mut notes, note::WORDS, lines(words).as_bytes());
        } else {
            let imports = self.imports.iter().zip(gate::FIRST_IMPORT..);
            let imports = imports.map(|(import, slot)| format!("{slot} {}", import.text())).collect();
            append(&mut notes, note::IMPORTS, lines(imports).as_bytes());
        }
        let sources = self.sources.iter().map(|(hash, file)| format!("{}  {file}", hash.to_hex())).collect();
        append(&mut notes, note::SOURCES, lines(sources).as_bytes());
        if !self.states.is_empty() {
            append(&mut notes, note::STATES, self.states);
        }
        notes
    }
}

/// Appends one ELF note: name and descriptor each zero-padded to 4 bytes.
fn append(notes: &mut Vec<u8>, kind: u32, descriptor: &[u8]) {
    let name = [note::NAME.as_bytes(), &[0]].concat();
    for word in [name.len() as u32, descriptor.len() as u32, kind] {
        notes.extend_from_slice(&word.to_le_bytes());
    }
    for bytes in [&name[..], descriptor] {
        notes.extend_from_slice(bytes);
        notes.resize(notes.len().next_multiple_of(4), 0);
    }
}

/// The thunks (docs/code-model.md, "System calls and imports"), labelled, so that an import's address can be taken.
fn gates(object: &mut Object, imports: &[Prototype]) -> Result<(), Error> {
    if imports.len() as u64 > gate::SLOTS - gate::FIRST_IMPORT {
        let most = gate::SLOTS - gate::FIRST_IMPORT;
        return Err(Error::Usage(format!("{} imports: a module has at most {most}", imports.len())));
    }
    for (import, slot) in imports.iter().zip(gate::FIRST_IMPORT..) {
        let entry = (window::GATE_TABLE + 8 * slot) as u32;
        // call *%gs:entry; ret
        let code = [&[0x65, 0xff, 0x14, 0x25], &entry.to_le_bytes()[..], &[0xc3]].concat();
        object.function(import.name(), &code);
    }
    Ok(())
}

/// The same for functions of other modules: ld takes `__wrap_f` for `f` in every other object, and `f` for `__real_f` here. The
/// jump is unit U1, because the word that it takes the address from is data.
fn foreign_functions(object: &mut Object, foreign: &Foreign) {
    /// Where the address of the word's entry in the table is, in the function.
    const ENTRY: usize = code::LABEL.len() + 3;
    for name in &foreign.functions {
        let code = [
            // mov __real_f@GOTPCREL(%rip),%r10; mov %gs:(%r10d),%r11d
            &[0x4c, 0x8b, 0x15, 0, 0, 0, 0, 0x65, 0x67, 0x45, 0x8b, 0x1a][..],
            // add $-LABEL,%r11d; jne 1f; mov %r10d,%r11d
            &[0x41, 0x81, 0xc3],
            &code::LABEL_NEGATED.to_le_bytes(),
            &[0x75, 0x10, 0x45, 0x89, 0xd3],
            // add %gs:(window's base),%r11
            &[0x65, 0x67, 0x4c, 0x03, 0x1c, 0x25],
            &(header::W as u32).to_le_bytes(),
            // jmp *%r11; 1: ud2
            &[0x41, 0xff, 0xe3, 0x0f, 0x0b],
        ]
        .concat();
        let at = object.function(&format!("__wrap_{name}"), &code);
        let real = object.undefined(&format!("__real_{name}"));
        object.relocate(Section::Code, at + ENTRY, writer::GOT_ENTRY, real, -4);
    }
    for name in &foreign.absent {
        let symbol = object.absent(name);
        // Named by a place that ld drops, as ld looks at nothing that is not used.
        let section = object.section(Section::Absent);
        let at = section.len();
        section.resize(at + 8, 0);
        object.relocate(Section::Absent, at, writer::ABSOLUTE, symbol, 0);
    }
}
