//! Checked little-endian reads of an untrusted ELF file. Layouts and constants: System V gABI 4.1,
//! chapters 4 and 5, and the x86-64 psABI.

/// Why a file is not a module.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[error("{what} (at file offset {offset:#x}); {remedy}")]
pub struct ParseError {
    /// What is wrong.
    pub what: String,
    /// Where in the file.
    pub offset: u64,
    /// What to do about it.
    pub remedy: String,
}

pub(crate) const ET_DYN: u16 = 3;
pub(crate) const EM_X86_64: u16 = 62;

pub(crate) const PT_LOAD: u32 = 1;
pub(crate) const PT_DYNAMIC: u32 = 2;
pub(crate) const PT_INTERP: u32 = 3;
pub(crate) const PT_NOTE: u32 = 4;
pub(crate) const PT_TLS: u32 = 7;
pub(crate) const PT_GNU_RELRO: u32 = 0x6474_e552;

pub(crate) const PF_X: u32 = 1;
pub(crate) const PF_W: u32 = 2;

pub(crate) const DT_NULL: u64 = 0;
pub(crate) const DT_NEEDED: u64 = 1;
pub(crate) const DT_PLTRELSZ: u64 = 2;
pub(crate) const DT_HASH: u64 = 4;
pub(crate) const DT_STRTAB: u64 = 5;
pub(crate) const DT_SYMTAB: u64 = 6;
pub(crate) const DT_RELA: u64 = 7;
pub(crate) const DT_RELASZ: u64 = 8;
pub(crate) const DT_STRSZ: u64 = 10;
pub(crate) const DT_REL: u64 = 17;
pub(crate) const DT_TEXTREL: u64 = 22;
pub(crate) const DT_RELR: u64 = 36;
pub(crate) const DT_GNU_HASH: u64 = 0x6fff_fef5;

pub(crate) const SHT_SYMTAB: u32 = 2;
pub(crate) const R_X86_64_64: u64 = 1;
pub(crate) const R_X86_64_GLOB_DAT: u64 = 6;
pub(crate) const R_X86_64_RELATIVE: u64 = 8;

pub(crate) const STT_OBJECT: u8 = 1;
pub(crate) const STT_FUNC: u8 = 2;
pub(crate) const STB_GLOBAL: u8 = 1;
pub(crate) const STB_WEAK: u8 = 2;

/// The bytes of a file; every read is checked.
#[derive(Clone, Copy)]
pub(crate) struct File<'a>(pub &'a [u8]);

impl<'a> File<'a> {
    /// `size` bytes at `offset`.
    pub(crate) fn slice(self, offset: u64, size: u64) -> Result<&'a [u8], ParseError> {
        let range = offset
            .checked_add(size)
            .and_then(|end| Some(usize::try_from(offset).ok()?..usize::try_from(end).ok()?));
        range.and_then(|range| self.0.get(range)).ok_or_else(|| {
            let what = format!("{size} bytes are needed, but the file has {}", self.0.len());
            error(what, offset, "the file is truncated or damaged: build the module again")
        })
    }

    fn array<const N: usize>(self, offset: u64) -> Result<[u8; N], ParseError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.slice(offset, N as u64)?);
        Ok(bytes)
    }

    pub(crate) fn u8(self, offset: u64) -> Result<u8, ParseError> {
        self.array(offset).map(u8::from_le_bytes)
    }

    pub(crate) fn u16(self, offset: u64) -> Result<u16, ParseError> {
        self.array(offset).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(self, offset: u64) -> Result<u32, ParseError> {
        self.array(offset).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(self, offset: u64) -> Result<u64, ParseError> {
        self.array(offset).map(u64::from_le_bytes)
    }
}

/// `ParseError` in one line.
pub(crate) fn error(what: impl Into<String>, offset: u64, remedy: &str) -> ParseError {
    ParseError { what: what.into(), offset, remedy: remedy.to_owned() }
}

/// One program header (`Elf64_Phdr`).
#[derive(Clone, Copy)]
pub(crate) struct ProgramHeader {
    /// File offset of the header itself, for errors.
    pub at: u64,
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    pub file_size: u64,
    pub mem_size: u64,
    pub align: u64,
}

impl ProgramHeader {
    /// Size of `Elf64_Phdr`, bytes.
    pub(crate) const SIZE: u64 = 56;

    pub(crate) fn read(file: File<'_>, at: u64) -> Result<Self, ParseError> {
        Ok(ProgramHeader {
            at,
            kind: file.u32(at)?,
            flags: file.u32(at + 4)?,
            offset: file.u64(at + 8)?,
            address: file.u64(at + 16)?,
            file_size: file.u64(at + 32)?,
            mem_size: file.u64(at + 40)?,
            align: file.u64(at + 48)?,
        })
    }
}

/// One symbol (`Elf64_Sym`).
#[derive(Clone, Copy)]
pub(crate) struct RawSymbol {
    /// File offset of the symbol itself, for errors.
    pub at: u64,
    pub name: u32,
    pub kind: u8,
    pub binding: u8,
    pub section: u16,
    pub address: u64,
    pub size: u64,
}

impl RawSymbol {
    /// Size of `Elf64_Sym`, bytes.
    pub(crate) const SIZE: u64 = 24;

    pub(crate) fn read(file: File<'_>, at: u64) -> Result<Self, ParseError> {
        let info = file.u8(at + 4)?;
        Ok(RawSymbol {
            at,
            name: file.u32(at)?,
            kind: info & 15,
            binding: info >> 4,
            section: file.u16(at + 6)?,
            address: file.u64(at + 8)?,
            size: file.u64(at + 16)?,
        })
    }

    pub(crate) fn is_global(&self) -> bool {
        matches!(self.binding, STB_GLOBAL | STB_WEAK)
    }

    pub(crate) fn is_defined(&self) -> bool {
        self.section != 0
    }
}

/// A string table. The names taken from it are together no longer than the file, so that symbols
/// whose names overlap cannot make the parser's memory grow beyond a multiple of its input.
pub(crate) struct Strings<'a> {
    offset: u64,
    table: &'a [u8],
    budget: usize,
}

impl<'a> Strings<'a> {
    pub(crate) fn new(file: File<'a>, offset: u64, size: u64) -> Result<Self, ParseError> {
        Ok(Strings { offset, table: file.slice(offset, size)?, budget: file.0.len() })
    }

    /// The zero-terminated, printable name at `index`.
    pub(crate) fn name(&mut self, index: u32) -> Result<&'a str, ParseError> {
        let at = self.offset + u64::from(index);
        let wrong = |what: &str| error(what, at, "the symbol table is damaged: build the module again");
        let rest =
            self.table.get(index as usize..).ok_or_else(|| wrong("a name lies outside the string table"))?;
        let rest = &rest[..rest.len().min(self.budget)];
        let end = rest
            .iter()
            .position(|&byte| byte == 0)
            .ok_or_else(|| wrong("a name has no end, or all names together are longer than the file"))?;
        self.budget -= end;
        let name = std::str::from_utf8(&rest[..end]).map_err(|_| wrong("a name is not UTF-8"))?;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(wrong("a name is empty or holds control characters"));
        }
        Ok(name)
    }
}
