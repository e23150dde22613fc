//! ELF files made of given sections.

/// A section; fields as in the gABI, "Section Header".
#[derive(Debug, Default, Clone)]
pub struct Section<'n> {
    /// Its name.
    pub name: &'n str,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_addr`.
    pub address: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_entsize`.
    pub entry: u64,
    /// Its contents.
    pub contents: Vec<u8>,
}

/// `SHT_PROGBITS`
pub const PROGBITS: u32 = 1;
/// `SHT_SYMTAB`
pub const SYMTAB: u32 = 2;
/// `SHT_STRTAB`
pub const STRTAB: u32 = 3;
/// `SHT_RELA`
pub const RELA: u32 = 4;

/// `ET_REL`
pub const RELOCATABLE: u16 = 1;
/// `ET_DYN`
pub const SHARED: u16 = 3;

/// A file of this type (`e_type`) for x86-64. Sections are numbered from 1; their names come last.
#[must_use]
pub fn file(kind: u16, sections: &[Section<'_>]) -> Vec<u8> {
    const HEADER: usize = 64;
    let mut names = vec![0];
    let mut out = vec![0; HEADER];
    let mut headers = vec![0; HEADER];
    let last = Section { name: ".shstrtab", kind: STRTAB, ..Section::default() };
    for section in sections.iter().chain([&last]) {
        let name = names.len() as u32;
        names.extend(section.name.bytes().chain([0]));
        out.resize(out.len().next_multiple_of(16), 0);
        let contents = if section.name == last.name { &names } else { &section.contents };
        let words = [section.flags, section.address, out.len() as u64, contents.len() as u64];
        out.extend(contents);
        headers.extend([name, section.kind].map(u32::to_le_bytes).concat());
        headers.extend(words.map(u64::to_le_bytes).concat());
        headers.extend([section.link, section.info].map(u32::to_le_bytes).concat());
        headers.extend([16, section.entry].map(u64::to_le_bytes).concat());
    }
    out.resize(out.len().next_multiple_of(16), 0);
    let (table, count) = (out.len() as u64, (headers.len() / HEADER) as u16);
    out.extend(headers);
    out[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
    out[16..24].copy_from_slice(&[kind, 62, 1, 0].map(u16::to_le_bytes).concat());
    out[40..48].copy_from_slice(&table.to_le_bytes());
    out[52..64].copy_from_slice(
        &[HEADER as u16, 0, 0, HEADER as u16, count, count - 1].map(u16::to_le_bytes).concat(),
    );
    out
}
