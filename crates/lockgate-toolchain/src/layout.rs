//! From ld's output to a module file (docs/code-model.md, "Files").
//!
//! `sysroot/module.ld` gives every section its address; what is left is the file: ELF header, program headers and
//! constants first (so that the headers are mapped with the constants), then code padded with `int3`, then data, then
//! what is not mapped. ld cannot do this: it insists on headers in the first segment, which is code here.

use crate::Error;
use lockgate_abi::PAGE;
use object::elf::{
    self, FileHeader64, ProgramFlags, ProgramHeader64, ProgramType, SectionFlags, SectionHeader64,
};
use object::pod::{bytes_of, from_bytes, slice_from_bytes};
use object::{LittleEndian as LE, U16, U32, U64};

/// Room for the ELF header and the program headers at the start of the constants, bytes.
pub(crate) const HEADERS: u64 = 1024;

/// What fills code up to the end of its page, and `ud2`, which ends it.
const INT3: u8 = 0xcc;
const TRAP: [u8; 2] = [0x0f, 0x0b];

type Section = SectionHeader64<LE>;
type Segment = ProgramHeader64<LE>;

/// Lays out what ld linked with `module.ld`.
pub(crate) fn layout(linked: &[u8]) -> Result<Vec<u8>, Error> {
    let linked = Linked::parse(linked)?;
    let code = linked.part(|flags| flags.contains(elf::SHF_EXECINSTR))?;
    let constants =
        linked.part(|flags| !flags.contains(elf::SHF_EXECINSTR) && !flags.contains(elf::SHF_WRITE))?;
    let data = linked.part(|flags| flags.contains(elf::SHF_WRITE))?;
    let parts = [
        Placed { part: code, offset: constants.pages(), fill: Some(INT3), flags: elf::PF_R | elf::PF_X },
        Placed { part: constants, offset: 0, fill: Some(0), flags: elf::PF_R },
        Placed {
            part: data,
            offset: constants.pages() + code.pages(),
            fill: None,
            flags: elf::PF_R | elf::PF_W,
        },
    ];
    if parts.windows(2).any(|pair| pair[0].part.end() > pair[1].part.start) || code.start != 0 {
        return Err(Error::Layout(
            "code, constants and data are mixed: a section has unusual flags".to_owned(),
        ));
    }

    let mut file = Vec::new();
    for placed in [&parts[1], &parts[0], &parts[2]] {
        placed.append(&linked, &mut file)?;
    }
    let (section_headers, at) = linked.append_unmapped(&parts, &mut file)?;
    let segments = linked.segments(&parts)?;
    let header = FileHeader64::<LE> {
        e_phoff: U64::new(LE, size_of::<FileHeader64<LE>>() as u64),
        e_phnum: U16::new(LE, segments.len() as u16),
        e_shoff: U64::new(LE, at),
        ..*linked.header
    };
    let mut headers = bytes_of(&header).to_vec();
    segments.iter().for_each(|segment| headers.extend_from_slice(bytes_of(segment)));
    assert!(headers.len() as u64 <= HEADERS, "{} program headers", segments.len());
    file[..headers.len()].copy_from_slice(&headers);
    section_headers.iter().for_each(|section| file.extend_from_slice(bytes_of(section)));
    Ok(file)
}

/// Refuses sections that cannot lie where they want: the image begins behind its window's start, or, if it `joins`, behind another image.
pub(crate) fn refuse_alignment(linked: &[u8], joins: bool) -> Result<(), Error> {
    let most = if joins { PAGE } else { 1 << lockgate_abi::window::IMAGE.trailing_zeros() };
    let wants_more = |section: &&Section| {
        section.sh_flags.get(LE).contains(elf::SHF_ALLOC) && section.sh_addralign.get(LE) > most
    };
    match Linked::parse(linked)?.sections.iter().find(wants_more) {
        None => Ok(()),
        Some(section) => Err(Error::Usage(format!(
            "a variable or function is aligned to {} bytes, and the module begins at a multiple of {most}: align its variables and functions \
             to {most} bytes at most, or take the memory from aligned_alloc",
            section.sh_addralign.get(LE)
        ))),
    }
}

/// The descriptor of the note that says where rsp is in what ld linked (`lockgate_abi::note::STATES`).
pub(crate) fn states(linked: &[u8]) -> Result<Vec<u8>, Error> {
    let file = layout(linked)?;
    let parsed = Linked::parse(&file)?;
    let loads = || parsed.segments.iter().filter(|segment| segment.p_type.get(LE) == elf::PT_LOAD);
    let bytes = |segment: &Segment| {
        let (at, size) = (segment.p_offset.get(LE) as usize, segment.p_filesz.get(LE) as usize);
        file.get(at..at + size).unwrap_or_default()
    };
    let Some(code) = loads().find(|segment| segment.p_flags.get(LE).contains(elf::PF_X)) else {
        return Err(Error::Layout("there is no code".to_owned()));
    };
    let word = |address: u64| {
        let segment = loads().find(|segment| {
            let start = segment.p_vaddr.get(LE);
            start <= address && address - start < segment.p_filesz.get(LE)
        })?;
        let at = (address - segment.p_vaddr.get(LE)) as usize;
        Some(i32::from_le_bytes(bytes(segment).get(at..at + 4)?.try_into().ok()?))
    };
    Ok(lockgate_rewrite::states(bytes(code), word))
}

/// The file that ld wrote.
struct Linked<'a> {
    bytes: &'a [u8],
    header: &'a FileHeader64<LE>,
    sections: &'a [Section],
    segments: &'a [Segment],
}

/// Address range of the sections of one kind.
#[derive(Clone, Copy)]
struct Part {
    start: u64,
    /// One past the initialised bytes.
    file_end: u64,
    /// One past the last byte in memory.
    memory_end: u64,
}

impl Part {
    /// Initialised bytes, in whole pages.
    fn pages(&self) -> u64 {
        (self.file_end - self.start).next_multiple_of(PAGE)
    }

    /// One past its last page.
    fn end(&self) -> u64 {
        self.memory_end.next_multiple_of(PAGE)
    }
}

/// A part and its place in the module file.
struct Placed {
    part: Part,
    offset: u64,
    /// What fills its last page; `None` if it ends with its bytes.
    fill: Option<u8>,
    flags: ProgramFlags,
}

impl Placed {
    fn contains(&self, section: &Section) -> bool {
        is_mapped(section) && (self.part.start..self.part.end()).contains(&section.sh_addr.get(LE))
    }

    fn offset_of(&self, address: u64) -> u64 {
        self.offset + (address - self.part.start)
    }

    /// Appends its bytes; gaps between sections have the fill, or zero.
    fn append(&self, linked: &Linked<'_>, file: &mut Vec<u8>) -> Result<(), Error> {
        assert_eq!(file.len() as u64, self.offset, "parts are appended in the order of their offsets");
        let size = match self.fill {
            Some(_) => self.part.pages(),
            None => self.part.file_end - self.part.start,
        };
        file.resize((self.offset + size) as usize, self.fill.unwrap_or(0));
        for section in linked.sections.iter().filter(|section| self.contains(section) && !is_nobits(section))
        {
            let bytes = linked.contents(section)?;
            let at = self.offset_of(section.sh_addr.get(LE)) as usize;
            file[at..at + bytes.len()].copy_from_slice(bytes);
        }
        if self.fill == Some(INT3) && self.part.pages() - (self.part.file_end - self.part.start) >= 2 {
            let end = file.len() - TRAP.len();
            file[end..].copy_from_slice(&TRAP);
        }
        Ok(())
    }

    fn segment(&self) -> Segment {
        let memory = match self.fill {
            Some(_) => self.part.pages(),
            None => self.part.memory_end - self.part.start,
        };
        let in_file = match self.fill {
            Some(_) => memory,
            None => self.part.file_end - self.part.start,
        };
        segment(elf::PT_LOAD, self.flags, self.offset, self.part.start, in_file, memory, PAGE)
    }
}

impl<'a> Linked<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Linked<'a>, Error> {
        let malformed = || Error::Layout("the linker wrote a file that is not an ELF file".to_owned());
        let (header, _) = from_bytes::<FileHeader64<LE>>(bytes).map_err(|()| malformed())?;
        let rest = |offset: u64| bytes.get(offset as usize..).ok_or_else(malformed);
        let (sections, _) = slice_from_bytes(rest(header.e_shoff.get(LE))?, header.e_shnum.get(LE).into())
            .map_err(|()| malformed())?;
        let (segments, _) = slice_from_bytes(rest(header.e_phoff.get(LE))?, header.e_phnum.get(LE).into())
            .map_err(|()| malformed())?;
        Ok(Linked { bytes, header, sections, segments })
    }

    fn contents(&self, section: &Section) -> Result<&'a [u8], Error> {
        let (offset, size) = (section.sh_offset.get(LE) as usize, section.sh_size.get(LE) as usize);
        self.bytes
            .get(offset..offset.saturating_add(size))
            .ok_or_else(|| Error::Layout("a section lies outside the linker's output".to_owned()))
    }

    /// The range of the mapped sections with certain flags.
    fn part(&self, select: impl Fn(SectionFlags) -> bool) -> Result<Part, Error> {
        let sections =
            || self.sections.iter().filter(|section| is_mapped(section) && select(section.sh_flags.get(LE)));
        let end = |section: &Section| section.sh_addr.get(LE) + section.sh_size.get(LE);
        let start = sections().map(|section| section.sh_addr.get(LE)).min();
        let Some(start) = start.filter(|start| start.is_multiple_of(PAGE)) else {
            return Err(Error::Layout("code, constants or data is missing or not page-aligned".to_owned()));
        };
        Ok(Part {
            start,
            file_end: sections().filter(|section| !is_nobits(section)).map(end).max().unwrap_or(start),
            memory_end: sections().map(end).max().unwrap_or(start),
        })
    }

    /// Appends the sections that are not mapped. Returns all section headers and their offset in the file.
    fn append_unmapped(&self, parts: &[Placed], file: &mut Vec<u8>) -> Result<(Vec<Section>, u64), Error> {
        let mut headers = Vec::with_capacity(self.sections.len());
        for section in self.sections {
            let offset = match parts.iter().find(|placed| placed.contains(section)) {
                Some(placed) => placed.offset_of(section.sh_addr.get(LE)),
                None if is_nobits(section) || section.sh_type.get(LE) == elf::SHT_NULL => 0,
                None => {
                    let align = section.sh_addralign.get(LE).max(1) as usize;
                    file.resize(file.len().next_multiple_of(align), 0);
                    file.extend_from_slice(self.contents(section)?);
                    (file.len() as u64) - section.sh_size.get(LE)
                }
            };
            headers.push(Section { sh_offset: U64::new(LE, offset), ..*section });
        }
        file.resize(file.len().next_multiple_of(8), 0);
        Ok((headers, file.len() as u64))
    }

    /// The program headers: PT_PHDR, ours of the parts, and ld's of everything inside them.
    fn segments(&self, parts: &[Placed; 3]) -> Result<Vec<Segment>, Error> {
        const KEPT: &[ProgramType] =
            &[elf::PT_DYNAMIC, elf::PT_NOTE, elf::PT_TLS, elf::PT_GNU_EH_FRAME, elf::PT_GNU_STACK];
        let kept: Vec<&Segment> =
            self.segments.iter().filter(|segment| KEPT.contains(&segment.p_type.get(LE))).collect();
        let at = size_of::<FileHeader64<LE>>() as u64;
        let size = ((1 + parts.len() + kept.len()) * size_of::<Segment>()) as u64;
        let constants = parts[1].part.start;
        let mut segments = vec![segment(elf::PT_PHDR, elf::PF_R, at, constants + at, size, size, 8)];
        segments.extend(parts.iter().map(Placed::segment));
        for kept in kept {
            let address = kept.p_vaddr.get(LE);
            let placed =
                parts.iter().find(|placed| (placed.part.start..placed.part.end()).contains(&address));
            let offset = match (kept.p_type.get(LE), placed) {
                (elf::PT_GNU_STACK, _) => 0,
                (_, Some(placed)) => placed.offset_of(address),
                (kind, None) => {
                    return Err(Error::Layout(format!("program header {kind:#x} lies outside the image")));
                }
            };
            segments.push(Segment { p_offset: U64::new(LE, offset), ..*kept });
        }
        Ok(segments)
    }
}

/// Takes part of the image; `.tbss` has addresses but no memory there.
fn is_mapped(section: &Section) -> bool {
    let flags = section.sh_flags.get(LE);
    flags.contains(elf::SHF_ALLOC) && !(flags.contains(elf::SHF_TLS) && is_nobits(section))
}

fn is_nobits(section: &Section) -> bool {
    section.sh_type.get(LE) == elf::SHT_NOBITS
}

fn segment(
    kind: ProgramType,
    flags: ProgramFlags,
    offset: u64,
    address: u64,
    in_file: u64,
    memory: u64,
    align: u64,
) -> Segment {
    Segment {
        p_type: U32::new(LE, kind),
        p_flags: U32::new(LE, flags),
        p_offset: U64::new(LE, offset),
        p_vaddr: U64::new(LE, address),
        p_paddr: U64::new(LE, address),
        p_filesz: U64::new(LE, in_file),
        p_memsz: U64::new(LE, memory),
        p_align: U64::new(LE, align),
    }
}
