//! Objects of the driver's own, written as ELF. Names and bytes that come from inputs are data here, never text for an assembler.

use lockgate_abi::code;

/// Kinds of relocations: `R_X86_64_64`, `R_X86_64_PC32`, `R_X86_64_REX_GOTPCRELX`.
pub(crate) const ABSOLUTE: u32 = 1;
const PC_RELATIVE: u32 = 2;
pub(crate) const GOT_ENTRY: u32 = 42;

const PROGBITS: u32 = 1;
const NOTE: u32 = 7;
const ALLOCATED: u64 = 2;
const CODE: u64 = ALLOCATED | 4;

/// A symbol's number: those of sections come first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Symbol(u32);

/// Sections that objects of ours have, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Code,
    /// Frame information of the code.
    Frames,
    /// Room for the headers of a module.
    Headers,
    Notes,
    /// What names symbols that are nowhere: ld drops it.
    Absent,
    /// A module inside a program.
    Embedded,
}

/// Name, type, flags, alignment of each; the last one is empty and says that the stack is not executable.
const SECTIONS: [(&str, u32, u64, u64); 7] = [
    (".text", PROGBITS, CODE, 1),
    (".eh_frame", PROGBITS, ALLOCATED, 8),
    (".lockgate.headers", PROGBITS, ALLOCATED, 1),
    (lockgate_abi::note::SECTION, NOTE, ALLOCATED, 4),
    (".lockgate.absent", PROGBITS, 0, 1),
    (".rodata.lockgate", PROGBITS, ALLOCATED, 16),
    (".note.GNU-stack", PROGBITS, 0, 1),
];

#[derive(Debug)]
struct Relocation {
    offset: u64,
    kind: u32,
    symbol: Symbol,
    addend: i64,
}

#[derive(Debug)]
struct Named {
    name: String,
    /// Binding and type.
    info: u8,
    visibility: u8,
    /// Number in the file; 0 where it is undefined.
    section: u16,
    value: u64,
    size: u64,
}

/// An object that is being made.
#[derive(Debug, Default)]
pub(crate) struct Object {
    contents: [Vec<u8>; SECTIONS.len()],
    relocations: [Vec<Relocation>; SECTIONS.len()],
    symbols: Vec<Named>,
}

impl Object {
    /// The contents of a section so far, to be appended to.
    pub(crate) fn section(&mut self, section: Section) -> &mut Vec<u8> {
        &mut self.contents[section as usize]
    }

    /// A global symbol from `value` to the section's end.
    pub(crate) fn define(&mut self, name: &str, section: Section, value: usize) -> Symbol {
        const FUNCTION: u8 = 2;
        const OBJECT: u8 = 1;
        let kind = if section == Section::Code { FUNCTION } else { OBJECT };
        let size = self.contents[section as usize].len() - value;
        self.symbol(Named {
            name: name.to_owned(),
            info: GLOBAL << 4 | kind,
            visibility: 0,
            section: section.number(),
            value: value as u64,
            size: size as u64,
        })
    }

    /// A symbol that something else defines.
    pub(crate) fn undefined(&mut self, name: &str) -> Symbol {
        self.symbol(Named {
            name: name.to_owned(),
            info: GLOBAL << 4,
            visibility: 0,
            section: 0,
            value: 0,
            size: 0,
        })
    }

    /// A weak symbol that nothing defines: hidden, so that ld does not leave it to a loader.
    pub(crate) fn absent(&mut self, name: &str) -> Symbol {
        const WEAK: u8 = 2;
        const HIDDEN: u8 = 2;
        self.symbol(Named {
            name: name.to_owned(),
            info: WEAK << 4,
            visibility: HIDDEN,
            section: 0,
            value: 0,
            size: 0,
        })
    }

    fn symbol(&mut self, symbol: Named) -> Symbol {
        self.symbols.push(symbol);
        // The empty one and the sections' come first.
        Symbol((SECTIONS.len() + self.symbols.len()) as u32)
    }

    pub(crate) fn relocate(
        &mut self,
        section: Section,
        offset: usize,
        kind: u32,
        symbol: Symbol,
        addend: i64,
    ) {
        let relocation = Relocation { offset: offset as u64, kind, symbol, addend };
        self.relocations[section as usize].push(relocation);
    }

    /// A labelled function that never moves rsp, with the frame information of [`crate::glue::leaf_frame`]. `code` is what follows the
    /// label. Where it is.
    pub(crate) fn function(&mut self, name: &str, code: &[u8]) -> usize {
        let text = self.section(Section::Code);
        let start = text.len();
        text.extend_from_slice(&code::LABEL);
        text.extend_from_slice(code);
        let size = text.len() - start;
        self.define(name, Section::Code, start);
        if self.section(Section::Frames).is_empty() {
            self.section(Section::Frames).extend(common_frame());
        }
        let frames = self.section(Section::Frames);
        let at = frames.len();
        // Length, distance back to the common part, start, size, no augmentation data, padding.
        let words = [FRAME_SIZE as u32 - 4, at as u32 + 4, 0, size as u32, 0];
        frames.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let text = Symbol(u32::from(Section::Code.number()));
        self.relocate(Section::Frames, at + 8, PC_RELATIVE, text, start as i64);
        start
    }

    /// The object's bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        const HEADER: usize = 64;
        let mut file = vec![0; HEADER];
        let mut headers = vec![[0; 8]];
        let mut names = vec![0];
        let mut name = |text: &str| {
            let at = names.len();
            names.extend_from_slice(text.as_bytes());
            names.push(0);
            at as u64
        };
        for ((title, kind, flags, align), contents) in SECTIONS.iter().zip(&self.contents) {
            let at = append(&mut file, contents, *align as usize);
            headers.push([
                name(title) | u64::from(*kind) << 32,
                *flags,
                0,
                at,
                contents.len() as u64,
                0,
                *align,
                0,
            ]);
        }

        let mut texts = vec![0];
        let mut symbols = vec![0; SYMBOL_SIZE];
        let mut symbol = |name: u32, info: u8, visibility: u8, section: u16, value: u64, size: u64| {
            symbols.extend(name.to_le_bytes());
            symbols.extend([info, visibility]);
            symbols.extend(section.to_le_bytes());
            symbols.extend([value, size].iter().flat_map(|word| word.to_le_bytes()));
        };
        const SECTION: u8 = 3;
        (1..=SECTIONS.len() as u16).for_each(|number| symbol(0, SECTION, 0, number, 0, 0));
        for named in &self.symbols {
            symbol(texts.len() as u32, named.info, named.visibility, named.section, named.value, named.size);
            texts.extend_from_slice(named.name.as_bytes());
            texts.push(0);
        }
        const SYMTAB: u64 = 2;
        const STRTAB: u64 = 3;
        let table = headers.len() as u64;
        let locals = SECTIONS.len() as u64 + 1;
        let at = append(&mut file, &symbols, 8);
        let linked = (table + 1) | locals << 32;
        headers.push([
            name(".symtab") | SYMTAB << 32,
            0,
            0,
            at,
            symbols.len() as u64,
            linked,
            8,
            SYMBOL_SIZE as u64,
        ]);
        let at = append(&mut file, &texts, 1);
        headers.push([name(".strtab") | STRTAB << 32, 0, 0, at, texts.len() as u64, 0, 1, 0]);

        const RELA: u64 = 4;
        const INFO_LINK: u64 = 0x40;
        const RELA_SIZE: u64 = 24;
        for (number, relocations) in self.relocations.iter().enumerate().filter(|(_, list)| !list.is_empty())
        {
            let mut bytes = Vec::new();
            for relocation in relocations {
                let info = u64::from(relocation.symbol.0) << 32 | u64::from(relocation.kind);
                let words = [relocation.offset, info, relocation.addend as u64];
                bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            }
            let at = append(&mut file, &bytes, 8);
            let title = format!(".rela{}", SECTIONS[number].0);
            let linked = table | (number as u64 + 1) << 32;
            headers.push([
                name(&title) | RELA << 32,
                INFO_LINK,
                0,
                at,
                bytes.len() as u64,
                linked,
                8,
                RELA_SIZE,
            ]);
        }
        let title = name(".shstrtab");
        let at = append(&mut file, &names, 1);
        headers.push([title | STRTAB << 32, 0, 0, at, names.len() as u64, 0, 1, 0]);

        let headers_at = append(&mut file, &[], 8);
        for header in &headers {
            file.extend(header.iter().flat_map(|word| word.to_le_bytes()));
        }
        // Class, order of bytes, version; relocatable, x86-64.
        let ident = [0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 62, 0, 1, 0, 0, 0];
        file[..ident.len()].copy_from_slice(&ident);
        file[40..48].copy_from_slice(&headers_at.to_le_bytes());
        let counts = [HEADER as u16, 0, 0, 64, headers.len() as u16, headers.len() as u16 - 1];
        for (place, count) in file[52..64].chunks_mut(2).zip(counts) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        file
    }
}

impl Section {
    fn number(self) -> u16 {
        self as u16 + 1
    }
}

/// An object with `bytes` as constants between two symbols, `NAME` and `NAME_end`.
pub fn embed(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut object = Object::default();
    object.section(Section::Embedded).extend_from_slice(bytes);
    object.define(name, Section::Embedded, 0);
    object.define(&format!("{name}_end"), Section::Embedded, bytes.len());
    object.write()
}

const GLOBAL: u8 = 1;
const SYMBOL_SIZE: usize = 24;

/// Bytes of one function's frame information.
const FRAME_SIZE: usize = 20;

/// Appends bytes on a boundary; where they are.
fn append(file: &mut Vec<u8>, bytes: &[u8], align: usize) -> u64 {
    file.resize(file.len().next_multiple_of(align), 0);
    let at = file.len();
    file.extend_from_slice(bytes);
    at as u64
}

/// The common part of frame information (DWARF's CIE), which says all of it: what [`crate::glue::leaf_frame`] says.
fn common_frame() -> Vec<u8> {
    const RSP: u8 = 7;
    const RETURN: u8 = 16;
    const UNIT: i64 = -8;
    let off = i64::from(code::OFF);
    // Version 1; starts are relative, in 4 bytes; units of 1 and -8 bytes.
    let mut body = vec![0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, RETURN, 1, 0x1b];
    // DW_CFA_def_cfa_sf, DW_CFA_offset_extended_sf, DW_CFA_val_offset_sf.
    for (operation, register, offset) in [(0x12, RSP, 8 - off), (0x11, RETURN, off - 8), (0x15, RSP, off)] {
        body.extend([operation, register]);
        lockgate_rewrite::push_sleb(&mut body, offset / UNIT);
    }
    body.resize(body.len().next_multiple_of(4), 0);
    [&(body.len() as u32).to_le_bytes(), &body[..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::object::{Object as _, ObjectSection as _, ObjectSymbol as _};

    /// A name is a name, whatever is in it: there is nothing that would read it as text.
    #[test]
    fn names_are_data() {
        let hostile = "f\n.incbin \"/etc/passwd\"\n\"; .fill 1000000";
        let bytes = embed(hostile, b"contents");
        let file = object::File::parse(&*bytes).expect("an object");
        let names: Vec<_> =
            file.symbols().filter_map(|symbol| symbol.name().ok()).filter(|n| !n.is_empty()).collect();
        assert_eq!(names, [hostile, &format!("{hostile}_end")]);
        assert_eq!(file.section_by_name(".rodata.lockgate").expect("it").data(), Ok(&b"contents"[..]));
    }

    /// As GNU as writes what [`crate::glue::leaf_frame`] says.
    #[test]
    fn frames_are_as_an_assembler_writes_them() {
        let expected = b"\x20\0\0\0\0\0\0\0\x01zR\0\x01x\x10\x01\x1b\x12\x07\xff\xff\xff\x3e\x11\x10\x81\x80\x80\x41\x15\x07\x80\x80\x80\x41\0";
        assert_eq!(common_frame(), expected);
    }
}
