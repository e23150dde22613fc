//! The one parse of a module that verifier and loader share (rule V0).

/// What a segment may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// r-x: verified code.
    Code,
    /// r--: constants, notes, symbol tables.
    Constants,
    /// rw-: data, never executable.
    Data,
}

/// One page-aligned segment of the image.
#[derive(Debug, Clone)]
pub struct Segment {
    /// What it may do.
    pub kind: SegmentKind,
    /// First address, image-relative, page-aligned.
    pub address: u64,
    /// Bytes that will be mapped: whole pages for Code and Constants; for Data the initialised part
    /// (the rest up to `size` is zero).
    pub bytes: Vec<u8>,
    /// Size in memory, bytes, page-aligned.
    pub size: u64,
}

/// `*(u64*)(image + at) = image_base_address + addend` (R_X86_64_RELATIVE; the only kind allowed).
#[derive(Debug, Clone, Copy)]
pub struct Relocation {
    /// Image-relative address of the 8-byte word, inside a Data segment's initialised bytes.
    pub at: u64,
    /// Image-relative value.
    pub addend: u64,
}

/// A procedure that the host may bind.
#[derive(Debug, Clone)]
pub struct Export {
    /// Symbol name.
    pub name: String,
    /// C prototype from the notes, if known.
    pub signature: Option<String>,
    /// Image-relative address; holds the entry label.
    pub address: u64,
}

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

/// A parsed module: everything the loader will use, and nothing else of the file is ever looked at.
#[derive(Debug, Clone)]
pub struct Module {
    /// Segments in address order, disjoint.
    pub segments: Vec<Segment>,
    /// Relocations in address order.
    pub relocations: Vec<Relocation>,
    /// Exports, sorted by name: defined global functions of the dynamic symbol table.
    pub exports: Vec<Export>,
    /// Defined global data symbols of the dynamic symbol table: name, image-relative address, size.
    pub data_symbols: Vec<(String, u64, u64)>,
    /// Imports, by slot.
    pub imports: Vec<Import>,
    /// Input hashes from the notes: (BLAKE3 hex, file name).
    pub sources: Vec<(String, String)>,
    /// One past the last byte of the image, page-aligned.
    pub image_size: u64,
    /// Image-relative address and count of the program headers (for AT_PHDR, AT_PHNUM).
    pub program_headers: (u64, u16),
    /// Thread-local storage template (PT_TLS): address, initialised size, memory size, alignment.
    pub tls: Option<(u64, u64, u64, u64)>,
    /// Built with `--pinpoint`.
    pub pinpoint: bool,
}

/// Why a file is not a module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at file offset {offset:#x}); {remedy}")]
pub struct ParseError {
    /// What is wrong.
    pub what: String,
    /// Where in the file.
    pub offset: u64,
    /// What to do about it.
    pub remedy: String,
}

impl Module {
    /// Parses the ELF file in `bytes`.
    ///
    /// # Errors
    /// [`ParseError`] for anything but a well-formed module of this ABI version.
    pub fn parse(bytes: &[u8]) -> Result<Module, ParseError> {
        let _ = bytes;
        todo!()
    }
}
