//! The sections and symbols of a module's file, read where the file may be hostile: every access is checked,
//! and nothing takes longer than the file is long.

/// Longest header of a line program that is read, bytes. What two bytes of it say takes a hundred when it is read.
pub(super) const MAX_HEADER: u64 = 512 << 10;

/// A symbol of a symbol table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    /// Offset of the name in the string table.
    pub(super) name: u32,
    kind: u8,
    section: u16,
    pub(super) value: u64,
    pub(super) size: u64,
}

impl Symbol {
    /// Whether it is defined here and names code.
    pub(super) fn is_function(&self) -> bool {
        const FUNCTION: u8 = 2;
        self.kind == FUNCTION && self.section != 0
    }
}

/// Contents of the section `name`; `None` if there is none, or the file is malformed there.
pub(super) fn section<'a>(elf: &'a [u8], name: &str) -> Option<&'a [u8]> {
    loaded_section(elf, name).map(|(_, contents)| contents)
}

/// The same, with the section's address.
pub(super) fn loaded_section<'a>(elf: &'a [u8], name: &str) -> Option<(u64, &'a [u8])> {
    const HEADER: usize = 64;
    let table = usize::try_from(u64_at(elf, 40)?).ok()?;
    let (count, names) = (usize::from(u16_at(elf, 60)?), usize::from(u16_at(elf, 62)?));
    let header = |index: usize| elf.get(table.checked_add(index * HEADER)?..)?.get(..HEADER);
    let contents = |header: &[u8]| {
        const NOBITS: u32 = 8;
        const COMPRESSED: u64 = 0x800;
        let present = u32_at(header, 4)? != NOBITS && u64_at(header, 8)? & COMPRESSED == 0;
        let start = usize::try_from(u64_at(header, 24)?).ok()?;
        let end = start.checked_add(usize::try_from(u64_at(header, 32)?).ok()?)?;
        elf.get(start..end).filter(|_| present)
    };
    let names = contents(header(names)?)?;
    let is_wanted = |header: &&[u8]| {
        let rest = u32_at(header, 0).and_then(|at| names.get(at as usize..)).unwrap_or_default();
        rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
    };
    let wanted = (0..count).map_while(header).find(is_wanted)?;
    Some((u64_at(wanted, 16)?, contents(wanted)?))
}

/// The symbols of a symbol table.
pub(super) fn symbols(table: &[u8]) -> impl Iterator<Item = Symbol> {
    const ENTRY: usize = 24;
    table.chunks_exact(ENTRY).filter_map(|entry| {
        Some(Symbol {
            name: u32_at(entry, 0)?,
            kind: entry[4] & 15,
            section: u16_at(entry, 6)?,
            value: u64_at(entry, 8)?,
            size: u64_at(entry, 16)?,
        })
    })
}

/// Where a line program ends, and how long its header is, in bytes.
pub(super) struct LineProgram {
    pub(super) end: usize,
    pub(super) header: u64,
}

/// The line program at `offset` of `.debug_line` (DWARF standard, version 5, 6.2.4).
pub(super) fn line_program(lines: &[u8], offset: usize) -> Option<LineProgram> {
    // A length of 32 bits, or a mark and a length of 64 bits.
    let is_long = u32_at(lines, offset)? == u32::MAX;
    let length = |at: usize| if is_long { u64_at(lines, at) } else { u32_at(lines, at).map(u64::from) };
    let start = offset.checked_add(if is_long { 12 } else { 4 })?;
    let whole = length(if is_long { offset + 4 } else { offset })?;
    // Version, and from version 5 on the sizes of addresses and segments.
    let version = u16_at(lines, start)?;
    let header = length(start + if version < 5 { 2 } else { 4 })?;
    Some(LineProgram { end: start.checked_add(usize::try_from(whole).ok()?)?, header })
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    field(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    field(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    field(bytes, at).map(u64::from_le_bytes)
}
