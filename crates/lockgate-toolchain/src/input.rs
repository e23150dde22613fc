//! The objects and archives of a link.

use crate::Error;
use lockgate_outside::printable;
use object::read::elf::{ElfFile64, ElfSection64, ElfSymbol64, FileHeader as _};
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind, elf};
use std::path::{Path, PathBuf};

/// One object or archive, read into memory.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// How messages and the module's notes call it.
    pub name: String,
    pub kind: Kind,
    pub bytes: Vec<u8>,
    /// Hash for the notes: of the C source if the driver compiled it, else of `bytes`.
    pub hash: blake3::Hash,
    /// Linked as it is; the verifier judges it all the same.
    pub verbatim: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Archive,
}

/// The section's name, if it would bring notes into the module, whose readers go by owners and not by sections' names. Those that compilers
/// write are known, in whole, and in an alignment that no other section of the name changes.
fn note_of_its_own(section: &ElfSection64<'_, '_, LittleEndian>) -> Option<String> {
    const KNOWN: [(&[u8], u64); 2] = [(b".note.gnu.property", 8), (b".note.ABI-tag", 4)];
    let header = section.elf_section_header();
    let name = section.name_bytes().unwrap_or_default();
    let is_note = header.sh_type.get(LittleEndian) == elf::SHT_NOTE || name.starts_with(b".note");
    let is_loaded = header.sh_flags.get(LittleEndian).0 & elf::SHF_ALLOC.0 != 0;
    let is_ours = name == lockgate_abi::note::SECTION.as_bytes();
    let shown = || Some(printable(&String::from_utf8_lossy(name)));
    if !is_ours && (!is_note || !is_loaded || section.size() == 0) {
        return None;
    }
    let known = KNOWN.iter().any(|(title, align)| *title == name && section.align() == *align);
    let strangers = || match section.data() {
        Ok(data) => !are_whole(data, section.align() as usize),
        Err(_) => true,
    };
    if !known || strangers() { shown() } else { None }
}

/// True if the bytes are whole notes of the owner GNU.
fn are_whole(mut notes: &[u8], align: usize) -> bool {
    while let Some((header, rest)) = notes.split_first_chunk::<16>() {
        let size =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let description = (size(4) as usize).next_multiple_of(align);
        if size(0) != 4 || &header[12..] != b"GNU\0" || description > rest.len() {
            return false;
        }
        notes = &rest[description..];
    }
    notes.is_empty()
}

impl Input {
    /// Reads an object or an archive.
    pub(crate) fn read(path: &Path) -> Result<Input, Error> {
        Input::read_as(path, path.to_string_lossy().into_owned())
    }

    /// The same, under another name.
    pub(crate) fn read_as(path: &Path, name: String) -> Result<Input, Error> {
        let bytes = lockgate_outside::read(path).map_err(Error::io("read", path))?;
        let name = printable(&name);
        let kind = kind(&name, &bytes)?;
        let input = Input { name, kind, hash: blake3::hash(&bytes), bytes, verbatim: false };
        input.check_names()?;
        Ok(input)
    }

    /// Refuses notes that would stand among those of the module, and symbols whose names are no names: those of others than the object
    /// itself go into the linker's options, into lists of exports and into notes.
    fn check_names(&self) -> Result<(), Error> {
        for object in self.objects() {
            if let Some(name) = object.sections().find_map(|section| note_of_its_own(&section)) {
                return Err(Error::input(
                    &self.name,
                    format!(
                        "it has a section {name}, which only the linker writes: build it again from its source"
                    ),
                ));
            }
            let shared =
                |symbol: &ElfSymbol64<'_, '_, LittleEndian>| symbol.is_global() || symbol.is_undefined();
            for symbol in object.symbols().filter(shared) {
                let name = symbol.name_bytes().unwrap_or_default();
                if !name.is_empty() && !is_name(name) {
                    let shown = String::from_utf8_lossy(&name[..name.len().min(LONGEST_SHOWN)]);
                    return Err(Error::input(
                        &self.name,
                        format!(
                            "{shown:?} cannot be the name of a symbol: names are made of letters, digits, _, $, . and @, and begin \
                             with a letter, _, $ or ."
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether it holds gcc's intermediate code instead of, or beside, machine code.
    pub(crate) fn is_lto(&self) -> bool {
        self.objects().iter().any(has_intermediate_code)
    }

    /// Whether one of its objects holds nothing else.
    pub(crate) fn is_only_lto(&self) -> bool {
        use object::SectionKind::{Data, ReadOnlyData, Text, UninitializedData};
        let is_mapped = |kind| matches!(kind, Text | Data | ReadOnlyData | UninitializedData);
        self.objects().iter().any(|object| {
            has_intermediate_code(object)
                && !object.sections().any(|section| section.size() > 0 && is_mapped(section.kind()))
        })
    }

    /// Names of the global functions that one of its objects defines, whatever their visibility.
    pub(crate) fn defined_functions(object: &ElfFile64<'_, LittleEndian>) -> impl Iterator<Item = String> {
        let is_global_function = |symbol: &ElfSymbol64<'_, '_, LittleEndian>| {
            symbol.is_definition() && symbol.is_global() && symbol.kind() == SymbolKind::Text
        };
        object.symbols().filter(is_global_function).filter_map(|symbol| Some(symbol.name().ok()?.to_owned()))
    }

    /// Names of the global functions with default visibility that it defines, in the symbol table's order.
    pub(crate) fn functions(&self) -> Vec<String> {
        self.symbols(|symbol| {
            symbol.is_definition() && symbol.kind() == SymbolKind::Text && is_exported(symbol)
        })
    }

    /// Whether it defines this function for others than itself, whatever its visibility.
    pub(crate) fn defines(&self, function: &str) -> bool {
        self.objects().iter().any(|object| Input::defined_functions(object).any(|name| name == function))
    }

    /// The same of its global data; thread-local data has no one address.
    pub(crate) fn data(&self) -> Vec<String> {
        self.symbols(|symbol| {
            (symbol.is_definition() || symbol.is_common())
                && symbol.kind() == SymbolKind::Data
                && is_exported(symbol)
        })
    }

    /// Names of the weak symbols that it uses but does not define.
    pub(crate) fn undefined_weak_symbols(&self) -> Vec<String> {
        self.symbols(|symbol| symbol.is_undefined() && symbol.is_weak())
    }

    fn symbols(&self, select: impl Fn(&ElfSymbol64<'_, '_, LittleEndian>) -> bool) -> Vec<String> {
        let name = |symbol: ElfSymbol64<'_, '_, LittleEndian>| Some(symbol.name().ok()?.to_owned());
        self.objects()
            .iter()
            .flat_map(|object| object.symbols().filter(&select).filter_map(name).collect::<Vec<_>>())
            .collect()
    }

    /// Bytes of machine code.
    pub(crate) fn text_size(&self) -> u64 {
        let code = |object: &ElfFile64<'_, LittleEndian>| -> u64 {
            object
                .sections()
                .filter(|section| section.kind() == object::SectionKind::Text)
                .map(|section| section.size())
                .sum()
        };
        self.objects().iter().map(code).sum()
    }

    /// Bytes that ld may write for its sections without reading them: gaps of alignment, what decompresses, and what is to be zero
    /// but lies among data.
    pub(crate) fn unread_bytes(&self) -> u64 {
        let unread = |section: &ElfSection64<'_, '_, LittleEndian>| {
            let header = section.elf_section_header();
            let name = section.name_bytes().unwrap_or_default();
            let starts = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| name.starts_with(prefix));
            let is_nobits = header.sh_type.get(LittleEndian) == elf::SHT_NOBITS;
            let flags = header.sh_flags.get(LittleEndian);
            if is_nobits && starts(&[b".bss", b".tbss", b".lbss", b".gnu.linkonce.b.", b".gnu.linkonce.tb."])
            {
                return 0;
            }
            let contents = if is_nobits {
                section.size()
            } else if flags.contains(elf::SHF_COMPRESSED) && !starts(&[b".debug"]) {
                section.compressed_file_range().map_or(0, |range| range.uncompressed_size)
            } else {
                0
            };
            contents.saturating_add(section.align().saturating_sub(1))
        };
        self.objects()
            .iter()
            .flat_map(|object| object.sections().map(|section| unread(&section)).collect::<Vec<_>>())
            .fold(0, u64::saturating_add)
    }

    /// The object, or an archive's members that are objects.
    pub(crate) fn objects(&self) -> Vec<ElfFile64<'_, LittleEndian>> {
        let parse = |bytes| ElfFile64::parse(bytes).ok();
        match self.kind {
            Kind::Object => parse(&*self.bytes).into_iter().collect(),
            Kind::Archive => {
                let Ok(archive) = object::read::archive::ArchiveFile::parse(&*self.bytes) else {
                    return Vec::new();
                };
                let members = archive.members().filter_map(|member| member.ok()?.data(&*self.bytes).ok());
                members.filter_map(parse).collect()
            }
        }
    }
}

fn has_intermediate_code(object: &ElfFile64<'_, LittleEndian>) -> bool {
    object.sections().any(|section| section.name_bytes().is_ok_and(|name| name.starts_with(b".gnu.lto_")))
}

/// Bytes of a name that cannot be one, in a message.
const LONGEST_SHOWN: usize = 80;

/// Whether this can be the name of a function or variable: what compilers write for C, C++, Rust, Fortran, with the version behind
/// an `@`. Nothing in it means anything to a linker's options, patterns or scripts.
pub(crate) fn is_name(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let inside = |c: char| c.is_alphanumeric() || "_$.@".contains(c);
    let first = |c: char| c.is_alphabetic() || "_$.".contains(c);
    name != "." && name.starts_with(first) && name.chars().all(inside)
}

/// Global, and neither hidden nor internal.
fn is_exported(symbol: &ElfSymbol64<'_, '_, LittleEndian>) -> bool {
    let visibility = symbol.elf_symbol().st_visibility();
    symbol.is_global() && (visibility == elf::STV_DEFAULT || visibility == elf::STV_PROTECTED)
}

/// What the file is, if it can be linked.
fn kind(name: &str, bytes: &[u8]) -> Result<Kind, Error> {
    if bytes.starts_with(b"!<arch>\n") {
        return Ok(Kind::Archive);
    }
    if bytes.starts_with(b"!<thin>\n") {
        let reason = "a thin archive holds only names; make it without `ar T`, or give its objects";
        return Err(Error::input(name, reason));
    }
    if bytes.starts_with(b"BC\xc0\xde") {
        return Err(Error::input(name, "LLVM intermediate code; compile without -flto"));
    }
    if bytes.starts_with(b"\x7fELF\x01") {
        return Err(Error::input(name, "a 32-bit object; compile it for x86-64, without -m32 and -mx32"));
    }
    let header = elf::FileHeader64::<LittleEndian>::parse(bytes).map_err(|_| {
        Error::input(name, "neither a 64-bit ELF object nor an archive; give objects (.o) and archives (.a)")
    })?;
    let machine = header.e_machine(LittleEndian);
    if machine != elf::EM_X86_64 {
        let reason = format!("made for ELF machine {machine}, not for x86-64 (62); compile it for x86-64");
        return Err(Error::input(name, reason));
    }
    match header.e_type(LittleEndian) {
        elf::ET_REL => Ok(Kind::Object),
        elf::ET_DYN => Err(Error::input(
            name,
            "a shared library or program cannot be linked into a module; give its static archive (.a)",
        )),
        other => Err(Error::input(name, format!("ELF type {other} is not a relocatable object (1)"))),
    }
}

/// The text of a file that a command line names.
pub(crate) fn text(path: &Path) -> Result<String, Error> {
    let bytes = lockgate_outside::read(path).map_err(Error::io("read", path))?;
    String::from_utf8(bytes)
        .map_err(|_| Error::input(printable(&path.to_string_lossy()), "not a text in UTF-8"))
}

/// The archive that `-lname` means, in the first folder that has it.
pub(crate) fn library(name: &str, folders: &[PathBuf]) -> Result<PathBuf, Error> {
    // ld's -l:file means exactly that file.
    let file = name.strip_prefix(':').map_or_else(|| format!("lib{name}.a"), str::to_owned);
    folders.iter().map(|folder| folder.join(&file)).find(|path| path.is_file()).ok_or_else(|| {
        let places = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>();
        Error::input(format!("-l{name}"), format!(
            "{file} not found in {}; modules are linked statically: build the library's archive with `lockgate cc`",
            if places.is_empty() { "any folder (none was given with -L)".to_owned() } else { places.join(", ") }
        ))
    })
}

/// What ld will see, in order.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Input(Input),
    /// For ld, in this place.
    Option(String),
}

pub(crate) fn inputs(parts: &[Part]) -> impl Iterator<Item = &Input> {
    parts.iter().filter_map(|part| match part {
        Part::Input(input) => Some(input),
        Part::Option(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_of_symbols() {
        for name in [
            "f",
            "_ZN4core3fmt5Write17h0123456789abcdefE",
            "f.constprop.0",
            "memcpy@GLIBC_2.2.5",
            "$x",
            ".hidden",
            "größe",
        ] {
            assert!(is_name(name.as_bytes()), "{name}");
        }
        let no_names: &[&[u8]] = &[
            b"",
            b".",
            b"1f",
            b"f\n.incbin \"x\"",
            b"f;",
            b"*",
            b"f[a]",
            b"f=1",
            b"\"",
            b"a b",
            b"\x1b[2J",
            b"\xff",
            b"@V",
            b"-T",
        ];
        for name in no_names {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
