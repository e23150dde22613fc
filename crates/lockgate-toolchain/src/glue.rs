//! The object that the driver itself adds to a module: notes, import thunks, room for the headers.

use crate::join::{Foreign, Provider};
use crate::{Error, Prototype, layout, process, tools::Tools};
use lockgate_abi::{ABI_VERSION, code, gate, header, note, window};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What a module says about itself (`lockgate_abi::note`).
pub(crate) struct Notes<'a> {
    pub exports: &'a [Prototype],
    pub imports: &'a [Prototype],
    /// BLAKE3 hash and name of each input.
    pub sources: &'a [(blake3::Hash, String)],
    pub pinpoint: bool,
    /// Others may join its domains.
    pub base: bool,
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

/// Assembles the object in `folder`.
pub(crate) fn assemble(tools: &Tools, folder: &Path, notes: &Notes<'_>) -> Result<PathBuf, Error> {
    let (source, object) = (folder.join("glue.s"), folder.join("glue.o"));
    std::fs::write(folder.join("notes"), notes.bytes()).map_err(Error::io("write in", folder))?;
    let text = match notes.join {
        Some((_, foreign)) => common() + &foreign_functions(foreign),
        None => common() + &gates(notes.imports)?,
    };
    std::fs::write(&source, text + "\t.section .note.GNU-stack,\"\",@progbits\n")
        .map_err(Error::io("write", &source))?;
    let mut command = tools.gcc();
    process::run(command.current_dir(folder).args(["-c", "glue.s", "-o"]).arg(&object))?;
    Ok(object)
}

impl Notes<'_> {
    fn bytes(&self) -> Vec<u8> {
        let lines = |lines: Vec<String>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let flags = [(self.pinpoint, note::FLAG_PINPOINT), (self.base, note::FLAG_BASE)];
        let flags = flags.iter().filter(|(is, _)| *is).fold(0, |flags, (_, flag)| flags | flag);
        let mut notes = Vec::new();
        append(&mut notes, note::ABI, &[ABI_VERSION.to_le_bytes(), flags.to_le_bytes()].concat());
        let exports = self.exports.iter().map(|export| export.text().to_owned()).collect();
        append(&mut notes, note::EXPORTS, lines(exports).as_bytes());
        // One line each, whatever the file's name is.
        let name = |name: &str| name.replace(char::is_control, "?");
        if let Some((providers, foreign)) = self.join {
            let modules = providers
                .iter()
                .map(|provider| format!("{}  {}", provider.hash.to_hex(), name(&provider.name)));
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
        let sources =
            self.sources.iter().map(|(hash, file)| format!("{}  {}", hash.to_hex(), name(file))).collect();
        append(&mut notes, note::SOURCES, lines(sources).as_bytes());
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

/// Notes, and room for the headers.
fn common() -> String {
    format!(
        "\t.section .lockgate.headers,\"a\",@progbits\n\t.zero {}\n\
         \t.section {},\"a\",@note\n\t.balign 4\n\t.incbin \"notes\"\n\t.text\n",
        layout::HEADERS,
        note::SECTION
    )
}

/// The thunks (docs/code-model.md, "System calls and imports"), labelled, so that an import's address can be taken.
fn gates(imports: &[Prototype]) -> Result<String, Error> {
    if imports.len() as u64 > gate::SLOTS - gate::FIRST_IMPORT {
        let most = gate::SLOTS - gate::FIRST_IMPORT;
        return Err(Error::Usage(format!("{} imports: a module has at most {most}", imports.len())));
    }
    let mut text = String::new();
    for (import, slot) in imports.iter().zip(gate::FIRST_IMPORT..) {
        let entry = window::GATE_TABLE + 8 * slot;
        thunk(&mut text, import.name(), &format!("call *%gs:{entry:#x}\n\tret"));
    }
    Ok(text)
}

/// The same for functions of other modules: ld takes `__wrap_f` for `f` in every other object, and `f` for `__real_f` here. The
/// jump is unit U1, because the word that it takes the address from is data.
fn foreign_functions(foreign: &Foreign) -> String {
    let mut text = String::new();
    let (negated, window_base) = (code::LABEL_NEGATED, header::W);
    for name in &foreign.functions {
        let jump = format!(
            "mov __real_{name}@GOTPCREL(%rip),%r10\n\tmov %gs:(%r10d),%r11d\n\tadd ${negated},%r11d\n\tjne 1f\n\
             \tmov %r10d,%r11d\n\taddr32 add %gs:{window_base:#x},%r11\n\tjmp *%r11\n1:\tud2"
        );
        thunk(&mut text, &format!("__wrap_{name}"), &jump);
    }
    // Undefined and hidden: ld does not leave them to a loader.
    for name in &foreign.absent {
        let _ = writeln!(
            text,
            "\t.weak {name}\n\t.hidden {name}\n\t.section .lockgate.absent,\"\",@progbits\n\t.quad {name}\n\t.text"
        );
    }
    text
}

/// A labelled function that never moves rsp.
fn thunk(text: &mut String, name: &str, body: &str) {
    let _ = write!(
        text,
        "\t.globl {name}\n\t.type {name},@function\n{name}:\n\t{}\n\tendbr64\n\
         \t{body}\n\t.cfi_endproc\n\t.size {name},.-{name}\n",
        leaf_frame()
    );
}
