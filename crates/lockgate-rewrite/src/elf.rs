//! Relocatable ELF objects: sections, symbols and relocations in their original order, read strictly and
//! written back. (System V ABI, "Object Files"; AMD64 supplement §4.)

use crate::error::{Error, Reason};

/// Section types (`sh_type`).
pub mod sht {
    #![allow(missing_docs)]
    pub const NULL: u32 = 0;
    pub const PROGBITS: u32 = 1;
    pub const SYMTAB: u32 = 2;
    pub const STRTAB: u32 = 3;
    pub const RELA: u32 = 4;
    pub const NOBITS: u32 = 8;
    pub const REL: u32 = 9;
    pub const GROUP: u32 = 17;
    pub const SYMTAB_SHNDX: u32 = 18;
    pub const LLVM_ADDRSIG: u32 = 0x6fff_4c03;
}

/// Section flags (`sh_flags`).
pub mod shf {
    #![allow(missing_docs)]
    pub const WRITE: u64 = 1;
    pub const ALLOC: u64 = 2;
    pub const EXECINSTR: u64 = 4;
    pub const INFO_LINK: u64 = 0x40;
    pub const GROUP: u64 = 0x200;
    pub const COMPRESSED: u64 = 0x800;
}

/// Relocation types of x86-64 (`R_X86_64_*`).
pub mod reloc {
    // Some of these are only expected, never made.
    #![allow(missing_docs, dead_code)]
    pub const NONE: u32 = 0;
    pub const ABS64: u32 = 1;
    pub const PC32: u32 = 2;
    pub const PLT32: u32 = 4;
    pub const GOTPCREL: u32 = 9;
    pub const ABS32: u32 = 10;
    pub const ABS32S: u32 = 11;
    pub const PC16: u32 = 13;
    pub const PC8: u32 = 15;
    pub const TLSGD: u32 = 19;
    pub const TLSLD: u32 = 20;
    pub const DTPOFF64: u32 = 17;
    pub const DTPOFF32: u32 = 21;
    pub const GOTTPOFF: u32 = 22;
    pub const TPOFF32: u32 = 23;
    pub const PC64: u32 = 24;
    pub const GOTOFF64: u32 = 25;
    pub const GOTPC32: u32 = 26;
    pub const SIZE32: u32 = 32;
    pub const GOTPC32_TLSDESC: u32 = 34;
    pub const TLSDESC_CALL: u32 = 35;
    pub const GOTPCRELX: u32 = 41;
    pub const REX_GOTPCRELX: u32 = 42;
}

/// Symbol types (`STT_*`) and bindings (`STB_*`).
pub mod sym {
    #![allow(missing_docs)]
    pub const NOTYPE: u8 = 0;
    pub const OBJECT: u8 = 1;
    pub const FUNC: u8 = 2;
    pub const SECTION: u8 = 3;
    pub const FILE: u8 = 4;
    pub const TLS: u8 = 6;
    pub const IFUNC: u8 = 10;
    pub const LOCAL: u8 = 0;
    pub const WEAK: u8 = 2;
}

/// First reserved section index: absolute, common and the like.
const SHN_LORESERVE: u16 = 0xff00;
const EHDR: usize = 64;
const SHDR: usize = 64;
const SYM: usize = 24;
const RELA: usize = 24;

/// Largest alignment of a section, bytes: more than an image has.
const MAX_ALIGN: u64 = 1 << 30;

/// Largest addend, value and size: sums of two do not overflow.
const MAX_ADDEND: u64 = 1 << 62;

/// A relocation with addend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reloc {
    /// Offset of the field in the section.
    pub offset: u64,
    /// Index in [`Object::symbols`].
    pub symbol: u32,
    /// Type, one of [`reloc`].
    pub kind: u32,
    /// Constant that is added to the symbol's value.
    pub addend: i64,
}

/// A section. String, symbol and relocation tables appear too, so that indices stay as in the input; their
/// contents are made anew by [`Object::write`].
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Name.
    pub name: String,
    /// Type, one of [`sht`].
    pub kind: u32,
    /// Flags, a union of [`shf`].
    pub flags: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// Alignment, bytes.
    pub align: u64,
    /// Size of an entry of a table, bytes.
    pub entry_size: u64,
    /// Size in memory of a `NOBITS` section, bytes.
    pub nobits_size: u64,
    /// Contents.
    pub data: Vec<u8>,
    /// Relocations of the contents, ordered by offset.
    pub relocs: Vec<Reloc>,
    /// Index of the section that holds the relocations.
    pub reloc_section: Option<usize>,
}

impl Section {
    /// Whether the section holds instructions that will be loaded.
    pub fn is_code(&self) -> bool {
        self.is_for_code() && !self.data.is_empty()
    }

    /// The same, also if there are none.
    pub fn is_for_code(&self) -> bool {
        self.kind == sht::PROGBITS && self.flags & shf::EXECINSTR != 0
    }

    /// Whether the section is loaded.
    pub fn is_loaded(&self) -> bool {
        self.flags & shf::ALLOC != 0
    }
}

/// A symbol.
#[derive(Debug, Clone)]
pub struct Symbol {
    /// Name, as bytes: compilers write what they like.
    pub name: Vec<u8>,
    /// Binding, one of [`sym`].
    pub binding: u8,
    /// Type, one of [`sym`].
    pub kind: u8,
    /// `st_other` (visibility).
    pub other: u8,
    /// `st_shndx` as in the file.
    pub shndx: u16,
    /// Offset in the section.
    pub value: u64,
    /// Size, bytes.
    pub size: u64,
}

impl Symbol {
    /// Index of the section that defines the symbol; `None` if it is undefined, absolute or common.
    pub fn section(&self) -> Option<usize> {
        (self.shndx != 0 && self.shndx < SHN_LORESERVE).then_some(usize::from(self.shndx))
    }

    /// Whether another object must define the symbol.
    pub fn is_undefined(&self) -> bool {
        self.shndx == 0
    }

    /// The name for messages, fit for a terminal.
    pub fn display_name(&self) -> String {
        lockgate_outside::printable_bytes(&self.name)
    }
}

/// A relocatable object.
#[derive(Debug, Clone)]
pub struct Object {
    /// Sections by index; entry 0 is the null section.
    pub sections: Vec<Section>,
    /// Symbols by index; entry 0 is the null symbol, local symbols come first.
    pub symbols: Vec<Symbol>,
    /// Index of the symbol table's section; an object without code may have none.
    pub symtab: Option<usize>,
    flags: u32,
    os_abi: u8,
    section_names: usize,
}

/// A section that was added, and the symbol that names it.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    pub section: usize,
    pub symbol: u32,
}

/// Whether `bytes` start like an ELF file.
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

impl Object {
    /// Reads an object; `file` names it in errors.
    ///
    /// # Errors
    /// Anything but a well-formed relocatable ELF64 object for x86-64.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Object, Error> {
        read(bytes).map_err(|reason| Error::whole(file, reason))
    }

    /// The section and offset that `symbol` + `addend` points at, if this object defines the symbol.
    pub fn resolve(&self, symbol: u32, addend: i64) -> Option<(usize, i64)> {
        let symbol = &self.symbols[symbol as usize];
        Some((symbol.section()?, symbol.value as i64 + addend))
    }

    /// Gives section `index` a relocation section, in the same group, unless it has one.
    pub fn ensure_reloc_section(&mut self, index: usize) {
        if self.sections[index].reloc_section.is_some() {
            return;
        }
        let new = self.sections.len();
        let target = &self.sections[index];
        let section = Section {
            name: format!(".rela{}", target.name),
            kind: sht::RELA,
            flags: shf::INFO_LINK | target.flags & shf::GROUP,
            link: self.symtab.unwrap_or_default() as u32,
            info: index as u32,
            align: 8,
            entry_size: RELA as u64,
            nobits_size: 0,
            data: Vec::new(),
            relocs: Vec::new(),
            reloc_section: None,
        };
        if target.flags & shf::GROUP != 0 {
            let member = (index as u32).to_le_bytes();
            for group in self.sections.iter_mut().filter(|section| section.kind == sht::GROUP) {
                if group.data.chunks_exact(4).skip(1).any(|entry| entry == member) {
                    group.data.extend_from_slice(&(new as u32).to_le_bytes());
                }
            }
        }
        self.sections.push(section);
        self.sections[index].reloc_section = Some(new);
    }

    /// Adds `count` sections like `section`, each with a symbol of its own, which is local: so the numbers of others change. None if the
    /// file has no place for so many.
    pub fn add_sections(&mut self, count: usize, section: &Section) -> Option<Vec<Made>> {
        // Each may get a section of relocations, too.
        if self.sections.len() + 2 * count >= usize::from(SHN_LORESERVE) {
            return None;
        }
        let first_section = self.sections.len();
        let numbers: Vec<usize> = (first_section..first_section + count).collect();
        let first = self.add_section_symbols(&numbers)?;
        self.sections.extend(std::iter::repeat_n(section.clone(), count));
        let made = numbers.into_iter().zip(first..).map(|(section, symbol)| Made { section, symbol });
        Some(made.collect())
    }

    /// Adds a symbol for each of these sections, behind the other local ones: so the numbers of others change. The first one's number;
    /// None if there is no table of symbols, or one that is damaged.
    pub fn add_section_symbols(&mut self, sections: &[usize]) -> Option<u32> {
        let symtab = self.symtab?;
        let first = self.sections[symtab].info;
        if first as usize > self.symbols.len() {
            return None;
        }
        let count = sections.len() as u32;
        let moved = |symbol: u32| if symbol >= first { symbol + count } else { symbol };
        for section in &mut self.sections {
            for reloc in &mut section.relocs {
                reloc.symbol = moved(reloc.symbol);
            }
            match section.kind {
                sht::GROUP => section.info = moved(section.info),
                // Clang's list of symbols whose addresses matter.
                sht::LLVM_ADDRSIG => section.data = move_numbers(&section.data, moved)?,
                _ => (),
            }
        }
        self.sections[symtab].info = first + count;
        let symbols = sections.iter().map(|&section| Symbol {
            name: Vec::new(),
            binding: sym::LOCAL,
            kind: sym::SECTION,
            other: 0,
            shndx: section as u16,
            value: 0,
            size: 0,
        });
        self.symbols.splice(first as usize..first as usize, symbols);
        Some(first)
    }

    /// The object as a file.
    pub fn write(mut self) -> Vec<u8> {
        let mut section_names = Strings::default();
        let names: Vec<u32> = self.sections.iter().map(|s| section_names.add(s.name.as_bytes())).collect();
        let strtab = self.symtab.map(|symtab| self.sections[symtab].link as usize);
        // One table may serve both purposes; it then holds both sets of names.
        let shared = strtab == Some(self.section_names);
        let mut symbol_names = if shared { std::mem::take(&mut section_names) } else { Strings::default() };
        if let (Some(symtab), Some(strtab)) = (self.symtab, strtab) {
            let mut symbols = Vec::with_capacity(self.symbols.len() * SYM);
            for symbol in &self.symbols {
                symbols.extend_from_slice(&symbol_names.add(&symbol.name).to_le_bytes());
                symbols.extend_from_slice(&[symbol.binding << 4 | symbol.kind, symbol.other]);
                symbols.extend_from_slice(&symbol.shndx.to_le_bytes());
                symbols.extend_from_slice(&symbol.value.to_le_bytes());
                symbols.extend_from_slice(&symbol.size.to_le_bytes());
            }
            self.sections[symtab].data = symbols;
            self.sections[strtab].data = symbol_names.bytes();
        }
        if !shared {
            self.sections[self.section_names].data = section_names.bytes();
        }
        for index in 0..self.sections.len() {
            let Some(table) = self.sections[index].reloc_section else { continue };
            let mut data = Vec::with_capacity(self.sections[index].relocs.len() * RELA);
            for reloc in &self.sections[index].relocs {
                data.extend_from_slice(&reloc.offset.to_le_bytes());
                data.extend_from_slice(
                    &(u64::from(reloc.symbol) << 32 | u64::from(reloc.kind)).to_le_bytes(),
                );
                data.extend_from_slice(&reloc.addend.to_le_bytes());
            }
            self.sections[table].data = data;
        }

        let mut out = vec![0; EHDR];
        let mut offsets = Vec::with_capacity(self.sections.len());
        for section in &self.sections {
            if section.kind != sht::NULL {
                // Only addresses must be aligned as sections want it, and objects have none.
                out.resize(out.len().next_multiple_of(section.align.clamp(1, 16) as usize), 0);
            }
            offsets.push(out.len() as u64);
            out.extend_from_slice(&section.data);
        }
        out.resize(out.len().next_multiple_of(8), 0);
        let table = out.len() as u64;
        for ((section, name), offset) in self.sections.iter().zip(names).zip(offsets) {
            let size =
                if section.kind == sht::NOBITS { section.nobits_size } else { section.data.len() as u64 };
            let offset = if section.kind == sht::NULL { 0 } else { offset };
            out.extend_from_slice(&name.to_le_bytes());
            out.extend_from_slice(&section.kind.to_le_bytes());
            for word in [section.flags, 0, offset, size] {
                out.extend_from_slice(&word.to_le_bytes());
            }
            out.extend_from_slice(&section.link.to_le_bytes());
            out.extend_from_slice(&section.info.to_le_bytes());
            out.extend_from_slice(&section.align.to_le_bytes());
            out.extend_from_slice(&section.entry_size.to_le_bytes());
        }
        out[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, self.os_abi]);
        out[16..18].copy_from_slice(&1u16.to_le_bytes());
        out[18..20].copy_from_slice(&62u16.to_le_bytes());
        out[20..24].copy_from_slice(&1u32.to_le_bytes());
        out[40..48].copy_from_slice(&table.to_le_bytes());
        out[48..52].copy_from_slice(&self.flags.to_le_bytes());
        out[52..54].copy_from_slice(&(EHDR as u16).to_le_bytes());
        out[58..60].copy_from_slice(&(SHDR as u16).to_le_bytes());
        out[60..62].copy_from_slice(&(self.sections.len() as u16).to_le_bytes());
        out[62..64].copy_from_slice(&(self.section_names as u16).to_le_bytes());
        out
    }
}

/// A list of numbers in ULEB128 with each changed by `moved`.
fn move_numbers(list: &[u8], moved: impl Fn(u32) -> u32) -> Option<Vec<u8>> {
    let mut new = Vec::with_capacity(list.len());
    let mut rest = list;
    while !rest.is_empty() {
        let last = rest.iter().position(|byte| byte & 0x80 == 0)?;
        let bytes = rest[..=last].iter().rev();
        let number = bytes.fold(0u64, |number, byte| number << 7 | u64::from(byte & 0x7f));
        let mut number = moved(u32::try_from(number).ok()?);
        rest = &rest[last + 1..];
        while number >= 0x80 {
            new.push(number as u8 | 0x80);
            number >>= 7;
        }
        new.push(number as u8);
    }
    Some(new)
}

/// A string table under construction.
#[derive(Default)]
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, name: &[u8]) -> u32 {
        if self.0.is_empty() {
            self.0.push(0);
        }
        if name.is_empty() {
            return 0;
        }
        let at = self.0.len() as u32;
        self.0.extend_from_slice(name);
        self.0.push(0);
        at
    }

    fn bytes(mut self) -> Vec<u8> {
        self.add(b"");
        self.0
    }
}

fn read(bytes: &[u8]) -> Result<Object, Reason> {
    check_header(bytes)?;
    let table = usize::try_from(u64_at(bytes, 40)?).map_err(|_| truncated())?;
    let (count, section_names) = (usize::from(u16_at(bytes, 60)?), usize::from(u16_at(bytes, 62)?));
    if count == 0 || section_names >= count {
        return Err(Reason::new(
            "the object has no usable section table, or more than 65,279 sections",
            "compile without -ffunction-sections, or split the source",
        ));
    }
    let mut sections = Vec::with_capacity(count);
    let mut held = 0;
    let mut names = Vec::with_capacity(count);
    for index in 0..count {
        let at = table.checked_add(index * SHDR).filter(|at| *at < bytes.len()).ok_or_else(truncated)?;
        let kind = u32_at(bytes, at + 4)?;
        let (offset, size) = (u64_at(bytes, at + 24)?, u64_at(bytes, at + 32)?);
        let data = match kind {
            sht::NULL | sht::NOBITS => Vec::new(),
            _ => slice(bytes, offset, size)?.to_vec(),
        };
        held += data.len();
        if held > bytes.len() {
            return Err(Reason::malformed("sections overlap"));
        }
        let align = u64_at(bytes, at + 48)?;
        if align > MAX_ALIGN || align != 0 && !align.is_power_of_two() {
            return Err(Reason::malformed(format!("a section is aligned to {align} bytes")));
        }
        names.push(u32_at(bytes, at)?);
        sections.push(Section {
            name: String::new(),
            kind,
            flags: u64_at(bytes, at + 8)?,
            link: u32_at(bytes, at + 40)?,
            info: u32_at(bytes, at + 44)?,
            align,
            entry_size: u64_at(bytes, at + 56)?,
            nobits_size: if kind == sht::NOBITS { size } else { 0 },
            data,
            relocs: Vec::new(),
            reloc_section: None,
        });
    }
    let mut strings = StringTable::of(&sections, section_names)?;
    let names: Vec<String> = names
        .into_iter()
        .map(|name| Ok(String::from_utf8_lossy(strings.get(name)?).into_owned()))
        .collect::<Result<_, Reason>>()?;
    for (section, name) in sections.iter_mut().zip(names) {
        section.name = name;
    }
    if sections.iter().any(|section| matches!(section.kind, sht::SYMTAB_SHNDX | sht::REL)) {
        return Err(Reason::malformed(
            "the object uses extended section numbers or relocations without addends",
        ));
    }
    let mut symtabs = (0..sections.len()).filter(|&index| sections[index].kind == sht::SYMTAB);
    let symtab = symtabs.next();
    if symtabs.next().is_some() {
        return Err(Reason::malformed("the object has two symbol tables"));
    }
    let entry = |section: &Section| match section.kind {
        sht::SYMTAB => Some(SYM),
        sht::RELA => Some(RELA),
        _ => None,
    };
    if sections.iter().any(|section| entry(section).is_some_and(|size| section.entry_size != size as u64)) {
        return Err(Reason::malformed("symbols or relocations have a size of their own"));
    }
    if symtab.is_none() && sections.iter().any(Section::is_code) {
        return Err(Reason::new(
            "the object has code but no symbol table",
            "do not strip objects before they are linked",
        ));
    }
    let symbols = symtab.map_or(Ok(Vec::new()), |symtab| read_symbols(&sections, symtab))?;
    read_relocs(&mut sections, symbols.len())?;
    Ok(Object { sections, symbols, symtab, flags: u32_at(bytes, 48)?, os_abi: bytes[7], section_names })
}

fn check_header(bytes: &[u8]) -> Result<(), Reason> {
    if bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(b"\xde\xc0\x17\x0b") {
        return Err(Reason::new(
            "the object holds LLVM bitcode, not code",
            "compile without -flto, or with -ffat-lto-objects",
        ));
    }
    if !is_elf(bytes) {
        return Err(Reason::new(
            "this is not an ELF object",
            "give relocatable objects (.o) or archives (.a)",
        ));
    }
    if bytes.len() < EHDR {
        return Err(truncated());
    }
    let machine = u16_at(bytes, 18)?;
    if bytes[4] != 2 || bytes[5] != 1 || machine != 62 {
        return Err(Reason::new(
            format!("the object is not for 64-bit x86-64 (ELF class {}, machine {machine})", bytes[4]),
            "compile for x86-64, without -m32 or -mx32",
        ));
    }
    if u16_at(bytes, 16)? != 1 {
        return Err(Reason::new(
            "this is a linked file, not a relocatable object",
            "give the objects or static archives that it was linked from",
        ));
    }
    Ok(())
}

fn read_symbols(sections: &[Section], symtab: usize) -> Result<Vec<Symbol>, Reason> {
    let mut strings = StringTable::of(sections, sections[symtab].link as usize)?;
    let table = &sections[symtab].data;
    let mut symbols = Vec::with_capacity(table.len() / SYM);
    for entry in table.chunks(SYM) {
        let shndx = u16_at(entry, 6)?;
        if shndx < SHN_LORESERVE && usize::from(shndx) >= sections.len() {
            return Err(Reason::malformed("a symbol lies in a section that does not exist"));
        }
        let (value, size) = (u64_at(entry, 8)?, u64_at(entry, 16)?);
        if shndx < SHN_LORESERVE && value.max(size) > MAX_ADDEND {
            return Err(Reason::malformed("a symbol's value or size is impossibly large"));
        }
        symbols.push(Symbol {
            name: strings.get(u32_at(entry, 0)?)?.to_vec(),
            binding: entry[4] >> 4,
            kind: entry[4] & 15,
            other: entry[5],
            shndx,
            value,
            size,
        });
    }
    Ok(symbols)
}

fn read_relocs(sections: &mut [Section], symbols: usize) -> Result<(), Reason> {
    for index in 0..sections.len() {
        if sections[index].kind != sht::RELA {
            continue;
        }
        let names_symbols =
            sections.get(sections[index].link as usize).is_some_and(|link| link.kind == sht::SYMTAB);
        if !names_symbols {
            return Err(Reason::malformed("relocations without a symbol table"));
        }
        let mut relocs = Vec::with_capacity(sections[index].data.len() / RELA);
        for entry in sections[index].data.chunks(RELA) {
            let info = u64_at(entry, 8)?;
            let symbol = (info >> 32) as u32;
            if symbol as usize >= symbols {
                return Err(Reason::malformed("a relocation names a symbol that does not exist"));
            }
            let addend = u64_at(entry, 16)? as i64;
            if addend.unsigned_abs() > MAX_ADDEND {
                return Err(Reason::malformed("a relocation's addend is impossibly large"));
            }
            relocs.push(Reloc { offset: u64_at(entry, 0)?, symbol, kind: info as u32, addend });
        }
        relocs.sort_by_key(|reloc| reloc.offset);
        let target = sections.get_mut(sections[index].info as usize).filter(|target| !is_table(target.kind));
        let target =
            target.ok_or_else(|| Reason::malformed("relocations of a section that can have none"))?;
        if target.reloc_section.is_some() {
            return Err(Reason::malformed(format!("section {} has two relocation tables", target.name)));
        }
        // Those of a compressed section count in what it holds, whose size its header tells (`Elf64_Chdr`).
        let size = match target.flags & shf::COMPRESSED {
            0 => target.data.len() as u64,
            _ => u64_at(&target.data, 8)?,
        };
        if relocs.last().is_some_and(|reloc| reloc.offset >= size) {
            return Err(Reason::malformed(format!("a relocation lies outside section {}", target.name)));
        }
        target.relocs = relocs;
        target.reloc_section = Some(index);
    }
    Ok(())
}

/// Whether sections of this type describe others, and cannot be relocated.
fn is_table(kind: u32) -> bool {
    matches!(kind, sht::NULL | sht::SYMTAB | sht::STRTAB | sht::RELA | sht::GROUP)
}

fn truncated() -> Reason {
    Reason::malformed("the object ends in the middle of a table or section")
}

fn slice(bytes: &[u8], offset: u64, size: u64) -> Result<&[u8], Reason> {
    let start = usize::try_from(offset).map_err(|_| truncated())?;
    let end = usize::try_from(size).ok().and_then(|size| start.checked_add(size)).ok_or_else(truncated)?;
    bytes.get(start..end).ok_or_else(truncated)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Reason> {
    let field = at.checked_add(N).and_then(|end| bytes.get(at..end)).ok_or_else(truncated)?;
    Ok(field.try_into().expect("the slice has N bytes"))
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Reason> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Reason> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Reason> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// A string table. Names may share their ends, but all names together are not much longer than the table: what they take in memory
/// stays in proportion to the file.
struct StringTable<'a> {
    table: &'a [u8],
    budget: usize,
}

impl<'a> StringTable<'a> {
    /// Section `index`.
    fn of(sections: &'a [Section], index: usize) -> Result<StringTable<'a>, Reason> {
        const SHARING: usize = 64;
        match sections.get(index) {
            Some(section) if section.kind == sht::STRTAB => {
                let budget = section.data.len().saturating_mul(SHARING);
                Ok(StringTable { table: &section.data, budget })
            }
            _ => Err(Reason::malformed("names are not in a string table")),
        }
    }

    /// The name at `at`.
    fn get(&mut self, at: u32) -> Result<&'a [u8], Reason> {
        if at == 0 {
            return Ok(b"");
        }
        let rest = self.table.get(at as usize..).ok_or_else(truncated)?;
        let rest = &rest[..rest.len().min(self.budget)];
        let end = rest.iter().position(|&byte| byte == 0).ok_or_else(truncated)?;
        self.budget -= end;
        Ok(&rest[..end])
    }
}
