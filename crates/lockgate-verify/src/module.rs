//! The one parse of a module that verifier and loader share (rule V0).
//!
//! What is mapped, relocated or called comes from the program headers alone, as in any ELF loader; the section
//! headers give only the names in [`Module::symbols`], on which nothing depends.

use crate::elf::{self, File, ParseError, ProgramHeader, RawSymbol, Strings, error};
use crate::frame::State;
use crate::notes::{Import, Notes, Symbolic};
use lockgate_abi::{PAGE, code, window};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

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
    /// Bytes that will be mapped: whole pages for Code (filled up with `int3`) and Constants (with zero);
    /// for Data the initialised part (the rest up to `size` is zero).
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

/// What a module that joins a domain has from others.
#[derive(Debug, Clone)]
pub struct Join {
    /// Files of the modules whose symbols it uses, (BLAKE3 hex, file name): the base first.
    pub modules: Vec<(String, String)>,
    /// Those symbols, sorted by name.
    pub symbols: Vec<Symbolic>,
    /// Words of data that hold their addresses, in address order, disjoint from each other and from the relocations.
    pub words: Vec<Word>,
}

/// `*(u64*)(image + at) = address of symbols[symbol] + addend` (R_X86_64_64, R_X86_64_GLOB_DAT).
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// Image-relative address of the 8-byte word, inside a Data segment's initialised bytes.
    pub at: u64,
    /// Index of the symbol.
    pub symbol: usize,
    /// Added to the symbol's address.
    pub addend: u64,
}

/// A named place of the image, for reports; the module says so, and nothing checks it.
#[derive(Debug, Clone)]
pub struct Symbol {
    /// Name.
    pub name: String,
    /// Image-relative address.
    pub address: u64,
    /// Size, bytes; 0 if unknown.
    pub size: u64,
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
    /// Defined global data symbols of the dynamic symbol table, sorted: name, image-relative address, size.
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
    /// Built with `--strict-bounds`.
    pub strict_bounds: bool,
    /// Other modules may join its domains.
    pub base: bool,
    /// What it has from other modules: it can be nothing but a part of a domain of the first of them.
    pub join: Option<Join>,
    /// Where rsp is at the starts of regions of code (`lockgate_abi::note::STATES`): image-relative address and state, in strictly
    /// ascending order. The module says so, [`verify`](crate::verify) checks it.
    pub states: Vec<(u64, State)>,
    /// Functions of `.symtab`, by address; empty if the module is stripped. Names for reports only.
    pub symbols: Vec<Symbol>,
}

/// Program headers of a module; ours have about ten.
const MAX_PROGRAM_HEADERS: u16 = 64;

const REBUILD: &str = "link the module with `lockgate cc` or `lockgate link`";
const NO_THREAD_LOCALS: &str =
    "keep them in the base, behind a function that returns their address, or use pthread_getspecific";

impl Module {
    /// Parses the ELF file in `bytes`. Memory and time are linear in `bytes.len()`, whatever they hold.
    ///
    /// # Errors
    /// [`ParseError`] for anything but a well-formed module of this ABI version.
    pub fn parse(bytes: &[u8]) -> Result<Module, ParseError> {
        let file = File(bytes);
        let (headers_at, headers) = program_headers(file)?;
        let image = Image::read(file, &headers)?;
        let mut notes = Notes::default();
        for header in headers.iter().filter(|header| header.kind == elf::PT_NOTE) {
            notes.read(file, header.offset, header.file_size, header.align)?;
        }
        notes.finish()?;
        let dynamic = Dynamic::read(file, &headers)?;
        let symbols: Vec<Symbolic> = notes.words.into_values().collect();
        let Symbols { exports, data: data_symbols, foreign } =
            dynamic.symbols(file, &image, notes.exports, &symbols)?;
        let (relocations, words) = dynamic.relocations(file, &image, &foreign)?;
        let tls = thread_local_template(&headers, &image)?;
        let join = (!notes.join.is_empty()).then_some(Join { modules: notes.join, symbols, words });
        if let (Some(_), Some(_)) = (&join, tls) {
            return Err(error("it joins a domain and has thread-local variables", 0, NO_THREAD_LOCALS));
        }
        let headers_size = headers.len() as u64 * ProgramHeader::SIZE;
        let headers_address = image
            .address_of(headers_at, headers_size)
            .ok_or_else(|| error("the program headers are not part of the constants", headers_at, REBUILD))?;
        Ok(Module {
            relocations,
            exports,
            data_symbols,
            imports: notes.imports,
            sources: notes.sources,
            image_size: image.size,
            program_headers: (headers_address, headers.len() as u16),
            tls,
            strict_bounds: notes.strict_bounds,
            base: notes.base,
            join,
            states: notes.states.unwrap_or_default(),
            symbols: report_symbols(file).unwrap_or_default(),
            segments: image.copy(file)?,
        })
    }
}

impl Module {
    /// Kind, address and bytes of the segments in a file that [`Module::parse`] takes; what they are filled up with is left out.
    pub(crate) fn segments_of(bytes: &[u8]) -> Option<Vec<(SegmentKind, u64, &[u8])>> {
        let file = File(bytes);
        let (_, headers) = program_headers(file).ok()?;
        let loads = Image::read(file, &headers).ok()?.loads.into_iter();
        let bytes = |load: &Load| file.slice(load.file.start, load.file.end - load.file.start).ok();
        loads.map(|load| Some((load.kind, load.address, bytes(&load)?))).collect()
    }
}

/// File offset of the program headers, and the headers.
fn program_headers(file: File<'_>) -> Result<(u64, Vec<ProgramHeader>), ParseError> {
    if file.0.get(..4) != Some(b"\x7fELF") {
        return Err(error("not an ELF file", 0, REBUILD));
    }
    if file.slice(4, 3)? != [2, 1, 1] {
        return Err(error("not a 64-bit little-endian ELF file, version 1", 4, REBUILD));
    }
    let (kind, machine) = (file.u16(16)?, file.u16(18)?);
    if machine != elf::EM_X86_64 {
        return Err(error(format!("made for ELF machine {machine}, not for x86-64 (62)"), 18, REBUILD));
    }
    if kind != elf::ET_DYN {
        let what = format!("ELF type {kind} is not a position-independent executable (3)");
        return Err(error(what, 16, REBUILD));
    }
    let (at, entry_size, count) = (file.u64(32)?, file.u16(54)?, file.u16(56)?);
    if u64::from(entry_size) != ProgramHeader::SIZE || count > MAX_PROGRAM_HEADERS {
        let what =
            format!("{count} program headers of {entry_size} bytes (at most {MAX_PROGRAM_HEADERS} of 56)");
        return Err(error(what, 54, REBUILD));
    }
    file.slice(at, u64::from(count) * ProgramHeader::SIZE)?;
    let headers = (0..u64::from(count)).map(|i| ProgramHeader::read(file, at + i * ProgramHeader::SIZE));
    Ok((at, headers.collect::<Result<_, _>>()?))
}

/// One PT_LOAD header, checked.
struct Load {
    kind: SegmentKind,
    address: u64,
    /// Bytes of the file that it holds.
    file: Range<u64>,
    /// Size in memory, page-aligned.
    size: u64,
}

/// The checked PT_LOAD headers: disjoint pages in address order, disjoint bytes of the file.
struct Image {
    loads: Vec<Load>,
    size: u64,
}

impl Image {
    fn read(file: File<'_>, headers: &[ProgramHeader]) -> Result<Image, ParseError> {
        let mut image = Image { loads: Vec::new(), size: 0 };
        let mut copied = 0;
        for header in headers {
            let wrong = |what: &str| Err(error(what, header.at, REBUILD));
            match header.kind {
                elf::PT_LOAD if header.mem_size > 0 => image.push(file, header)?,
                elf::PT_LOAD => continue,
                elf::PT_INTERP => return wrong("it asks for a program interpreter: not a static module"),
                elf::PT_GNU_RELRO => {
                    return wrong("PT_GNU_RELRO: constants must be read-only from the start");
                }
                _ => continue,
            }
            copied += header.file_size;
            if copied > file.0.len() as u64 {
                return wrong("its segments overlap in the file");
            }
        }
        match image.loads.first() {
            Some(first) if first.kind == SegmentKind::Code => Ok(image),
            _ => Err(error("the first segment is not code (r-x)", 0, REBUILD)),
        }
    }

    fn push(&mut self, file: File<'_>, header: &ProgramHeader) -> Result<(), ParseError> {
        let wrong = |what: &str| Err(error(what, header.at, REBUILD));
        let kind = match (header.flags & elf::PF_X != 0, header.flags & elf::PF_W != 0) {
            (true, false) => SegmentKind::Code,
            (false, false) => SegmentKind::Constants,
            (false, true) => SegmentKind::Data,
            (true, true) => return wrong("a segment is both writable and executable"),
        };
        if kind == SegmentKind::Code && !self.loads.is_empty() {
            return wrong("more than one code segment, or code that is not the first segment");
        }
        let limit = window::IMAGE_MAX - window::IMAGE;
        let end = header.address.checked_add(header.mem_size).filter(|&end| end <= limit);
        let Some(end) = end else {
            return wrong(&format!("the image is larger than {} MiB", limit >> 20));
        };
        if !header.address.is_multiple_of(PAGE) || header.address < self.size {
            return wrong("a segment is not page-aligned, or overlaps the one before it");
        }
        if header.file_size > header.mem_size
            || (kind != SegmentKind::Data && header.file_size < header.mem_size)
        {
            return wrong("a segment's size in the file does not fit its size in memory");
        }
        file.slice(header.offset, header.file_size)?;
        self.size = end.next_multiple_of(PAGE);
        let size = self.size - header.address;
        let file = header.offset..header.offset + header.file_size;
        self.loads.push(Load { kind, address: header.address, file, size });
        Ok(())
    }

    /// Kind and file offset of `size` initialised bytes at an address; `None` if they are not in one segment.
    fn find(&self, address: u64, size: u64) -> Option<(SegmentKind, u64)> {
        let load = self.loads.iter().rev().find(|load| load.address <= address)?;
        let skip = address - load.address;
        let room = (load.file.end - load.file.start).checked_sub(skip)?;
        (size <= room).then_some((load.kind, load.file.start + skip))
    }

    /// Address of `size` bytes at a file offset, if they are mapped as constants.
    fn address_of(&self, offset: u64, size: u64) -> Option<u64> {
        let inside = |load: &&Load| {
            load.kind == SegmentKind::Constants
                && load.file.start <= offset
                && size <= load.file.end.saturating_sub(offset)
        };
        self.loads.iter().find(inside).map(|load| load.address + (offset - load.file.start))
    }

    /// The bytes that will be mapped.
    fn copy(self, file: File<'_>) -> Result<Vec<Segment>, ParseError> {
        let copy = |load: Load| {
            let mut bytes = file.slice(load.file.start, load.file.end - load.file.start)?.to_vec();
            match load.kind {
                SegmentKind::Code => pad(&mut bytes, load.size as usize),
                SegmentKind::Constants => bytes.resize(load.size as usize, 0),
                SegmentKind::Data => (),
            }
            Ok(Segment { kind: load.kind, address: load.address, bytes, size: load.size })
        };
        self.loads.into_iter().map(copy).collect()
    }
}

/// Fills the last page of code: with `int3`, and `ud2` at its end, which control does not go on from; `ret` where there is room for
/// neither.
fn pad(text: &mut Vec<u8>, size: usize) {
    const INT3: u8 = 0xcc;
    const RET: u8 = 0xc3;
    match size - text.len() {
        0 => (),
        1 => text.push(RET),
        _ => {
            text.resize(size - code::UD2.len(), INT3);
            text.extend(code::UD2);
        }
    }
}

/// The entries of PT_DYNAMIC that a module may have and that matter; addresses image-relative, sizes in bytes.
#[derive(Default)]
struct Dynamic {
    /// File offset of the table, for errors.
    at: u64,
    rela: (u64, u64),
    symbol_table: u64,
    strings: (u64, u64),
    hash: Option<u64>,
    gnu_hash: Option<u64>,
}

impl Dynamic {
    fn read(file: File<'_>, headers: &[ProgramHeader]) -> Result<Dynamic, ParseError> {
        let mut tables = headers.iter().filter(|header| header.kind == elf::PT_DYNAMIC);
        let (Some(table), None) = (tables.next(), tables.next()) else {
            return Err(error("it has not exactly one PT_DYNAMIC segment", 0, REBUILD));
        };
        let mut dynamic = Dynamic { at: table.offset, ..Dynamic::default() };
        file.slice(table.offset, table.file_size)?;
        for i in 0..table.file_size / 16 {
            let at = table.offset + 16 * i;
            let (tag, value) = (file.u64(at)?, file.u64(at + 8)?);
            let wrong = |what: &str| Err(error(what, at, REBUILD));
            match tag {
                elf::DT_NULL => return Ok(dynamic),
                elf::DT_RELA => dynamic.rela.0 = value,
                elf::DT_RELASZ => dynamic.rela.1 = value,
                elf::DT_SYMTAB => dynamic.symbol_table = value,
                elf::DT_STRTAB => dynamic.strings.0 = value,
                elf::DT_STRSZ => dynamic.strings.1 = value,
                elf::DT_HASH => dynamic.hash = Some(value),
                elf::DT_GNU_HASH => dynamic.gnu_hash = Some(value),
                elf::DT_NEEDED => return wrong("it needs shared libraries: not a static module"),
                elf::DT_TEXTREL => return wrong("it has relocations in code"),
                elf::DT_REL | elf::DT_RELR => return wrong("its relocations are not of the RELA form"),
                elf::DT_PLTRELSZ if value != 0 => {
                    return wrong(
                        "it has relocations of procedure linkage tables, as for functions that are chosen at start (ifunc, target_clones)",
                    );
                }
                _ => (),
            }
        }
        Err(error("the dynamic table has no end", table.offset, REBUILD))
    }

    /// Relocations, and words for the addresses of `foreign` symbols.
    fn relocations(
        &self,
        file: File<'_>,
        image: &Image,
        foreign: &Foreign,
    ) -> Result<(Vec<Relocation>, Vec<Word>), ParseError> {
        const ENTRY: u64 = 24;
        let (address, size) = self.rela;
        let (mut relocations, mut words) = (Vec::new(), Vec::new());
        if size == 0 {
            return Ok((relocations, words));
        }
        let (_, table) = self.find(image, address, size, "the relocation table")?;
        let mut places = Vec::with_capacity((size / ENTRY) as usize);
        for i in 0..size / ENTRY {
            let entry = table + i * ENTRY;
            let (at, info, addend) = (file.u64(entry)?, file.u64(entry + 8)?, file.u64(entry + 16)?);
            let (kind, symbol) = (info & 0xffff_ffff, info >> 32);
            let named = foreign.get(&symbol).filter(|_| match kind {
                elf::R_X86_64_64 => true,
                elf::R_X86_64_GLOB_DAT => addend == 0,
                _ => false,
            });
            match named {
                Some(&symbol) => words.push(Word { at, symbol, addend }),
                None if info == elf::R_X86_64_RELATIVE => relocations.push(Relocation { at, addend }),
                None => {
                    let what = format!("a relocation of type {kind} with symbol {symbol}");
                    let remedy = "only R_X86_64_RELATIVE is allowed, and words for the symbols of a module that joins: link \
                                  without undefined symbols";
                    return Err(error(what, entry, remedy));
                }
            }
            if !matches!(image.find(at, 8), Some((SegmentKind::Data, _))) {
                let what = format!("a relocation at {at:#x} is not in initialised data");
                return Err(error(what, entry, "compile with -fPIC or -fPIE"));
            }
            places.push(at);
        }
        places.sort_unstable();
        if let Some(pair) = places.windows(2).find(|pair| pair[1] < pair[0] + 8) {
            return Err(error(format!("relocations overlap at {:#x}", pair[1]), table, REBUILD));
        }
        relocations.sort_by_key(|relocation| relocation.at);
        words.sort_by_key(|word| word.at);
        Ok((relocations, words))
    }

    /// What the dynamic symbol table defines, and which of the noted `words` it names.
    fn symbols(
        &self,
        file: File<'_>,
        image: &Image,
        noted: Noted,
        words: &[Symbolic],
    ) -> Result<Symbols, ParseError> {
        let mut noted = noted;
        let (mut exports, mut data, mut foreign) = (Vec::new(), Vec::new(), Foreign::new());
        let count = self.symbol_count(file, image)?;
        if count > 0 {
            let size = count.saturating_mul(RawSymbol::SIZE);
            let (_, table) = self.find(image, self.symbol_table, size, "the symbol table")?;
            let (_, strings) = self.find(image, self.strings.0, self.strings.1, "the string table")?;
            let mut strings = Strings::new(file, strings, self.strings.1)?;
            for i in 1..count {
                let symbol = RawSymbol::read(file, table + i * RawSymbol::SIZE)?;
                if !symbol.is_global() {
                    continue;
                }
                if !symbol.is_defined() {
                    let name = strings.name(symbol.name)?;
                    match words.binary_search_by(|word| word.name.as_str().cmp(name)) {
                        Ok(word) => foreign.insert(i, word),
                        Err(_) if symbol.binding == elf::STB_WEAK => continue,
                        Err(_) => {
                            let what = format!("symbol '{name}' is undefined");
                            return Err(error(what, symbol.at, "define it, or declare it as an import"));
                        }
                    };
                    continue;
                }
                match symbol.kind {
                    elf::STT_FUNC => {
                        let name = strings.name(symbol.name)?.to_owned();
                        labelled(file, image, &symbol, &name)?;
                        let signature = noted.remove(&name).flatten();
                        exports.push(Export { name, signature, address: symbol.address });
                    }
                    elf::STT_OBJECT => {
                        data.push((strings.name(symbol.name)?.to_owned(), symbol.address, symbol.size))
                    }
                    _ => (),
                }
            }
        }
        if let Some(name) = noted.keys().next() {
            let what = format!("export '{name}' is noted but not a function of the dynamic symbol table");
            return Err(error(what, self.at, "define it with default visibility, or do not export it"));
        }
        let used: BTreeSet<usize> = foreign.values().copied().collect();
        if let Some(word) = (0..words.len()).find(|word| !used.contains(word)) {
            let what = format!("symbol '{}' is noted and not used", words[word].name);
            return Err(error(what, self.at, REBUILD));
        }
        exports.sort_by(|a, b| a.name.cmp(&b.name));
        data.sort();
        match exports.windows(2).find(|pair| pair[0].name == pair[1].name) {
            Some(pair) => Err(error(format!("'{}' is exported twice", pair[0].name), self.at, REBUILD)),
            None => Ok(Symbols { exports, data, foreign }),
        }
    }

    /// Number of dynamic symbols. Only the hash tables tell (gABI, "Hash Table"; GNU's has no count: the
    /// chain of the bucket with the highest symbol ends with the last one).
    fn symbol_count(&self, file: File<'_>, image: &Image) -> Result<u64, ParseError> {
        if let Some(address) = self.hash {
            let (_, at) = self.find(image, address, 8, "the hash table")?;
            return Ok(file.u32(at + 4)?.into());
        }
        let Some(address) = self.gnu_hash else { return Ok(0) };
        let (_, at) = self.find(image, address, 16, "the hash table")?;
        let (buckets, first, bloom) = (file.u32(at)?, file.u32(at + 4)?, file.u32(at + 8)?);
        let buckets_at = at + 16 + 8 * u64::from(bloom);
        let chains_at = buckets_at + 4 * u64::from(buckets);
        file.slice(buckets_at, 4 * u64::from(buckets))?;
        let mut last = 0;
        for i in 0..u64::from(buckets) {
            last = last.max(file.u32(buckets_at + 4 * i)?);
        }
        if last == 0 {
            return Ok(first.into());
        }
        let wrong = || error("the hash table's chains are damaged", at, REBUILD);
        let mut chain = chains_at + 4 * u64::from(last.checked_sub(first).ok_or_else(wrong)?);
        while file.u32(chain)? & 1 == 0 {
            (last, chain) = (last.checked_add(1).ok_or_else(wrong)?, chain + 4);
        }
        Ok(u64::from(last) + 1)
    }

    fn find(
        &self,
        image: &Image,
        address: u64,
        size: u64,
        what: &str,
    ) -> Result<(SegmentKind, u64), ParseError> {
        image.find(address, size).ok_or_else(|| {
            let what = format!("{what} ({size} bytes at {address:#x}) is not in the image");
            error(what, self.at, REBUILD)
        })
    }
}

/// Name and prototype of the noted exports.
type Noted = BTreeMap<String, Option<String>>;
/// By number of the symbol in the dynamic symbol table: index among the noted words.
type Foreign = BTreeMap<u64, usize>;

/// The dynamic symbol table.
struct Symbols {
    exports: Vec<Export>,
    /// Name, address, size.
    data: Vec<(String, u64, u64)>,
    foreign: Foreign,
}

/// Checks that an export can be called through a pointer: it is code and starts with the entry label.
fn labelled(file: File<'_>, image: &Image, symbol: &RawSymbol, name: &str) -> Result<(), ParseError> {
    let place = image.find(symbol.address, code::LABEL.len() as u64);
    if let Some((SegmentKind::Code, at)) = place
        && file.slice(at, code::LABEL.len() as u64)? == code::LABEL
    {
        return Ok(());
    }
    let what =
        format!("exported function '{name}' at {:#x} does not start with the entry label", symbol.address);
    Err(error(what, symbol.at, "rewrite its object with `lockgate rewrite`"))
}

/// PT_TLS: address, initialised size, memory size, alignment.
fn thread_local_template(
    headers: &[ProgramHeader],
    image: &Image,
) -> Result<Option<(u64, u64, u64, u64)>, ParseError> {
    let Some(header) = headers.iter().find(|header| header.kind == elf::PT_TLS) else { return Ok(None) };
    let align = header.align.max(1);
    let in_image = header.file_size == 0 || image.find(header.address, header.file_size).is_some();
    let sane = header.file_size <= header.mem_size && header.mem_size < window::IMAGE_MAX;
    if !in_image || !sane || !align.is_power_of_two() || align > PAGE {
        return Err(error("the thread-local template is not a part of the image", header.at, REBUILD));
    }
    Ok(Some((header.address, header.file_size, header.mem_size, align)))
}

/// The functions of `.symtab`. `None` if there is no such table or it is damaged: only reports miss it.
fn report_symbols(file: File<'_>) -> Option<Vec<Symbol>> {
    const SECTION_HEADER: u64 = 64;
    let (headers, count) = (file.u64(40).ok()?, u64::from(file.u16(60).ok()?));
    let header =
        |i: u64| headers.checked_add(i * SECTION_HEADER).filter(|&at| file.slice(at, SECTION_HEADER).is_ok());
    let place = |at: u64| Some((file.u64(at + 24).ok()?, file.u64(at + 32).ok()?));
    let table = (0..count).filter_map(header).find(|&at| file.u32(at + 4) == Ok(elf::SHT_SYMTAB))?;
    let (at, size) = place(table)?;
    let (strings_at, strings_size) = place(header(file.u32(table + 40).ok()?.into())?)?;
    let mut strings = Strings::new(file, strings_at, strings_size).ok()?;
    file.slice(at, size).ok()?;
    let mut symbols = Vec::new();
    for i in 0..size / RawSymbol::SIZE {
        let symbol = RawSymbol::read(file, at + i * RawSymbol::SIZE).ok()?;
        if symbol.kind == elf::STT_FUNC && symbol.is_defined() {
            let name = strings.name(symbol.name).ok()?.to_owned();
            symbols.push(Symbol { name, address: symbol.address, size: symbol.size });
        }
    }
    symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    Some(symbols)
}
