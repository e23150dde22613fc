//! Unwind tables and debug information of an object whose code moved.
//!
//! Call-frame information is part of what a program does (exceptions use it), so an object whose tables
//! cannot be carried over exactly is refused. Debug information is not: where it cannot be carried over, it
//! is dropped as a whole, and [`Stats::dropped`] says why.

mod aranges;
mod bytes;
mod cfi;
mod expr;
mod frame;
mod info;
mod line;
mod lists;
mod lsda;
mod splice;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::elf::{self, Object, Reloc, Symbol, sym};
use crate::error::{Error, Reason};
use crate::map::{AddressMap, SectionMap};
use splice::{Carried, Moved, Spliced};

/// What was carried over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Functions with call-frame information.
    pub frames: usize,
    /// Frames of signal handlers, left out: no domain's stack ever holds one.
    pub signal_frames: usize,
    /// Call sites of exception tables.
    pub call_sites: usize,
    /// Rows of line programs.
    pub line_rows: usize,
    /// Entries of `.debug_info`.
    pub entries: usize,
    /// Locations of variables that no expression can give any more: the variable shows as optimised out.
    pub lost_locations: usize,
    /// Why the object's debug information was dropped, if it was.
    pub dropped: Option<String>,
}

/// Whether [`rewrite`] carries the section over, with its relocations; the caller leaves it alone.
pub fn owns(section: &elf::Section) -> bool {
    is_unwind(&section.name) || is_debug(&section.name)
}

fn is_unwind(name: &str) -> bool {
    name == ".eh_frame" || is_lsda(name)
}

fn is_lsda(name: &str) -> bool {
    name == ".gcc_except_table" || name.starts_with(".gcc_except_table.")
}

fn is_debug(name: &str) -> bool {
    name.starts_with(".debug_")
}

/// Carries the unwind tables and the debug information of `object` over, in place. Code and symbols have
/// moved already, by `map`; the sections that this module [`owns`] are as they were read, and `symbols` are
/// the symbols as they were read. `file` names the object in errors.
///
/// # Errors
/// Unwind tables that cannot be carried over exactly.
pub fn rewrite(
    file: &str,
    object: &mut Object,
    symbols: &[Symbol],
    map: &AddressMap,
) -> Result<Stats, Error> {
    let context = Context { symbols, map };
    let mut stats = Stats::default();
    let unwind = rewrite_unwind(object, &context, &mut stats)
        .and_then(|sections| Finished::new(sections, object, &context))
        .map_err(|fault| fault.refusal(file))?;
    let before = stats.clone();
    let debug = rewrite_debug(object, &context, &mut stats)
        .and_then(|sections| Finished::new(sections, object, &context));
    unwind.install(object);
    match debug {
        Ok(debug) => debug.install(object),
        Err(fault) => {
            stats = Stats { dropped: Some(fault.to_string()), ..before };
            drop_debug(object);
        }
    }
    Ok(stats)
}

/// Where calls have arguments on the stack that unwinders take off (DW_CFA_GNU_args_size): sections, code, and bytes. What cannot be read
/// is refused by [`rewrite`].
pub fn arguments(object: &Object) -> Vec<(usize, std::ops::Range<u64>, i32)> {
    let map = AddressMap::new(object.sections.len());
    let context = Context { symbols: &object.symbols, map: &map };
    let found =
        sections(object, |name| name == ".eh_frame").map(|section| frame::arguments(&section, &context));
    found.filter_map(Result::ok).flatten().collect()
}

/// Code that unwind tables describe as one function, or as one part of a function.
pub struct Frame {
    /// Section and offset of its first byte.
    pub start: (usize, u64),
    /// Its size, bytes.
    pub len: u64,
    /// Whether at its start nothing is on the stack but the return address, as at a function's entry.
    pub is_entry: bool,
    /// How far rsp is below where it was at the function's entry, if the table goes by rsp.
    pub depth: Option<i32>,
}

/// What the unwind tables describe, as far as they can be read.
pub fn frames(object: &Object) -> Vec<Frame> {
    let map = AddressMap::new(object.sections.len());
    let context = Context { symbols: &object.symbols, map: &map };
    let mut found = Vec::new();
    for (name, format) in [(".eh_frame", frame::Format::Eh), (".debug_frame", frame::Format::Debug)] {
        for section in sections(object, |section| section == name) {
            found.extend(frame::frames(&section, format, &context).unwrap_or_default());
        }
    }
    found
}

/// Appends the call-frame instruction that advances by `delta` bytes of code.
pub fn advance(delta: u64, out: &mut Vec<u8>) {
    cfi::emit_advance(delta, out);
}

/// What is wrong with a section, or has no counterpart.
#[derive(Debug)]
struct Fault {
    section: String,
    malformed: Malformed,
}

impl Fault {
    fn refusal(self, file: &str) -> Error {
        let reason = Reason::new(
            format!("the call-frame information {}", self.malformed.reason),
            "compile without exceptions: -fno-exceptions -fno-asynchronous-unwind-tables",
        );
        Error::at(file, self.section, self.malformed.at, reason)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {:#x} {}", self.section, self.malformed.at, self.malformed.reason)
    }
}

/// An offset in a section, and what is wrong there: a phrase that continues the section's name.
#[derive(Debug)]
struct Malformed {
    at: u64,
    reason: Cow<'static, str>,
}

impl Malformed {
    fn at(at: usize, reason: impl Into<Cow<'static, str>>) -> Self {
        Malformed { at: at as u64, reason: reason.into() }
    }

    fn of(self, section: &Section<'_>) -> Fault {
        Fault { section: section.name.into(), malformed: self }
    }
}

/// A section as it was read.
#[derive(Clone, Copy, Debug)]
struct Section<'a> {
    index: usize,
    name: &'a str,
    data: &'a [u8],
    relocs: &'a [Reloc],
}

impl<'a> Section<'a> {
    fn reloc_at(&self, offset: usize) -> Option<&'a Reloc> {
        let found = self.relocs.binary_search_by_key(&(offset as u64), |reloc| reloc.offset);
        found.ok().map(|index| &self.relocs[index])
    }

    /// Whether any of the bytes from `start` to `end` is relocated.
    fn has_reloc_in(&self, start: usize, end: usize) -> bool {
        let first = self.relocs.partition_point(|reloc| reloc.offset < start as u64);
        self.relocs.get(first).is_some_and(|reloc| reloc.offset < end as u64)
    }
}

/// What relocations meant before the code moved, and where it moved.
struct Context<'a> {
    symbols: &'a [Symbol],
    map: &'a AddressMap,
}

impl Context<'_> {
    /// Section and old offset that a relocation names, if this object defines it.
    fn target(&self, reloc: &Reloc) -> Option<(usize, u64)> {
        let symbol = self.symbols.get(reloc.symbol as usize)?;
        Some((symbol.section()?, symbol.value.wrapping_add_signed(reloc.addend)))
    }

    fn code(&self, section: usize) -> Option<&SectionMap> {
        self.map.section(section)
    }

    /// New offset of `edge` of the code at `place`; `None` if the section is not rewritten code.
    fn locate(&self, at: usize, (section, old): (usize, u64), edge: Edge) -> Result<Option<u64>, Malformed> {
        let Some(map) = self.code(section) else { return Ok(None) };
        let new = match edge {
            Edge::Entry => map.start(old),
            Edge::Body => map.body(old),
            Edge::End => map.end(old),
        };
        Ok(Some(new.or_else(|| last_byte(map, old)).ok_or_else(|| inside(at, old))?))
    }

    /// New offsets of `edge` of the code at `place`, and of one past the last of `len` bytes of code from there;
    /// `None` if the section is not rewritten code.
    fn range(
        &self,
        at: usize,
        place: (usize, u64),
        len: u64,
        edge: Edge,
    ) -> Result<Option<(u64, u64)>, Malformed> {
        let Some(start) = self.locate(at, place, edge)? else { return Ok(None) };
        if len == 0 {
            return Ok(Some((start, start)));
        }
        let old_end = place.1.wrapping_add(len);
        let end = self.locate(at, (place.0, old_end), Edge::End)?.filter(|&end| end >= start);
        let end = end.ok_or_else(|| Malformed::at(at, "has a range of code that ends before it starts"))?;
        Ok(Some((start, end)))
    }
}

/// What an address of code stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// The first byte that belongs to the instruction, its entry label included.
    Entry,
    /// The instruction itself. Functions, variables and breakpoints count from here: direct branches do not
    /// pass the label.
    Body,
    /// One past the instruction that ends there.
    End,
}

/// New offset of the last byte of the instruction whose last byte is at `old`. gcc ends the range of a
/// location there if a call destroys it.
fn last_byte(map: &SectionMap, old: u64) -> Option<u64> {
    map.end(old.checked_add(1)?)?.checked_sub(1)
}

fn inside(at: usize, old: u64) -> Malformed {
    Malformed::at(at, format!("names a place inside the instruction at {old:#x} of its code"))
}

/// Sections and what they hold now.
type Sections = Vec<(usize, Spliced)>;

fn sections<'a>(object: &'a Object, wanted: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = Section<'a>> {
    object.sections.iter().enumerate().filter(move |(_, section)| wanted(&section.name)).map(
        |(index, section)| Section {
            index,
            name: &section.name,
            data: &section.data,
            relocs: &section.relocs,
        },
    )
}

fn rewrite_unwind(object: &Object, context: &Context<'_>, stats: &mut Stats) -> Result<Sections, Fault> {
    let mut done = Sections::new();
    let mut areas = Vec::new();
    for section in sections(object, |name| name == ".eh_frame") {
        areas.extend(frame::lsdas(&section, context).map_err(|fault| fault.of(&section))?);
        let new = frame::rewrite(&section, frame::Format::Eh, context, stats);
        done.push((section.index, new.map_err(|fault| fault.of(&section))?));
    }
    for section in sections(object, is_lsda) {
        let new = lsda::rewrite(&section, &areas, context, stats);
        done.push((section.index, new.map_err(|fault| fault.of(&section))?));
    }
    Ok(done)
}

fn rewrite_debug(object: &Object, context: &Context<'_>, stats: &mut Stats) -> Result<Sections, Fault> {
    for section in sections(object, is_debug) {
        if object.sections[section.index].flags & elf::shf::COMPRESSED != 0 {
            return Err(Malformed::at(0, "is compressed: compile with -gz=none").of(&section));
        }
    }
    let mut done = Sections::new();
    let mut lists = info::Lists::new(object, context);
    let mut fixed = info::FixedRefs::default();
    let mut info_grew = false;
    for section in sections(object, |name| name == ".debug_info") {
        let new = info::rewrite(&section, object, context, &mut lists, &mut fixed, stats);
        let new = new.map_err(|fault| fault.of(&section))?;
        info_grew |= new.data.len() != section.data.len();
        done.push((section.index, new));
    }
    let mut others = Sections::new();
    for section in sections(object, |name| is_debug(name) && name != ".debug_info") {
        let mut tools =
            lists::Tools { context, lists: &lists, entries: &done, fixed: &mut fixed, stats: &mut *stats };
        let new = match section.name {
            ".debug_line" => line::rewrite(&section, context, stats),
            ".debug_frame" => frame::rewrite(&section, frame::Format::Debug, context, stats),
            ".debug_aranges" => aranges::rewrite(&section, context),
            ".debug_loclists" | ".debug_rnglists" => lists::rewrite_v5(&section, &mut tools),
            ".debug_loc" | ".debug_ranges" => lists::rewrite_v4(&section, &mut tools),
            // Indices of entries by offset. Debuggers make their own where there is none.
            ".debug_names"
            | ".debug_pubnames"
            | ".debug_pubtypes"
            | ".debug_gnu_pubnames"
            | ".debug_gnu_pubtypes"
                if info_grew =>
            {
                let none = Section { data: &[], relocs: &[], ..section };
                splice::Splice::new(&none).finish()
            }
            _ => splice::Splice::new(&section).finish(),
        };
        others.push((section.index, new.map_err(|fault| fault.of(&section))?));
    }
    fixed
        .check(&done)
        .map_err(|(index, malformed)| Fault { section: object.sections[index].name.clone(), malformed })?;
    done.append(&mut others);
    Ok(done)
}

fn drop_debug(object: &mut Object) {
    for section in object.sections.iter_mut().filter(|section| is_debug(&section.name)) {
        section.data.clear();
        section.relocs.clear();
        section.flags &= !elf::shf::COMPRESSED;
    }
}

/// Re-emitted sections with their final relocations, and the symbols in them.
struct Finished {
    sections: Vec<(usize, Vec<u8>, Vec<Reloc>)>,
    symbols: Vec<(usize, u64)>,
}

impl Finished {
    /// Points the relocations of `sections` at where their targets are now.
    fn new(sections: Sections, object: &Object, context: &Context<'_>) -> Result<Finished, Fault> {
        let moved: HashMap<usize, &Moved> =
            sections.iter().map(|(index, new)| (*index, &new.moved)).collect();
        let mut symbols = HashMap::new();
        for (index, symbol) in context.symbols.iter().enumerate() {
            let moved = symbol.section().and_then(|section| moved.get(&section));
            if let Some(moved) = moved.filter(|_| symbol.kind != sym::SECTION) {
                symbols.insert(index, moved.offset(symbol.value));
            }
        }
        let new_value = |symbol: u32| {
            let moved = symbols.get(&(symbol as usize)).copied();
            moved.unwrap_or_else(|| object.symbols[symbol as usize].value)
        };
        let retarget = |carried: &Carried| -> Result<Reloc, Malformed> {
            let Carried { reloc, edge } = carried;
            let Some((section, old)) = context.target(reloc) else { return Ok(*reloc) };
            let at = reloc.offset as usize;
            let code = context.locate(at, (section, old), *edge)?;
            let Some(new) = code.or_else(|| Some(moved.get(&section)?.offset(old))) else {
                return Ok(*reloc);
            };
            Ok(Reloc { addend: new.wrapping_sub(new_value(reloc.symbol)) as i64, ..*reloc })
        };
        let mut finished = Vec::with_capacity(sections.len());
        for (index, new) in &sections {
            let relocs: Result<Vec<Reloc>, Malformed> = new.relocs.iter().map(retarget).collect();
            let relocs = relocs
                .map_err(|malformed| Fault { section: object.sections[*index].name.clone(), malformed })?;
            finished.push((*index, relocs));
        }
        let sections =
            sections.into_iter().zip(finished).map(|((index, new), (_, relocs))| (index, new.data, relocs));
        Ok(Finished { sections: sections.collect(), symbols: symbols.into_iter().collect() })
    }

    fn install(self, object: &mut Object) {
        for (index, data, relocs) in self.sections {
            object.sections[index].data = data;
            object.sections[index].relocs = relocs;
        }
        for (index, value) in self.symbols {
            object.symbols[index].value = value;
        }
    }
}
