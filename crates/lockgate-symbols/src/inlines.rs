//! Calls that the compiler inlined, from a module's debug information.
//!
//! The bytes come from the module, so they may be hostile. One pass over `.debug_info`, without recursion, that gives up
//! after [`READING`] or [`MAX_RANGES`]; what was found until then is used. (`addr2line`, which reads the same, descends
//! nested entries by recursion: a module of some hundred kilobytes would overflow the host's stack. See
//! docs/decisions/0026-backtraces.md.)
use gimli::{
    AttributeValue, DebugAbbrev, Dwarf, EndianSlice, LittleEndian, Unit, UnitHeader, UnitOffset,
    constants as dw,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::elf::{self, MAX_HEADER};
use super::texts::{NONE, Texts, file_name, printable};

/// Most ranges of inlined calls that are kept.
const MAX_RANGES: usize = 1 << 20;
/// How long a module's information is read at most; that of SQLite takes some ten milliseconds.
const READING: Duration = Duration::from_secs(2);
/// Work between two looks at the clock, in entries and attributes.
const STEP: usize = 1024;
/// Longest table of abbreviations that a unit may have, bytes. What five bytes of it say takes a hundred when it is read.
const MAX_ABBREVIATIONS: usize = 256 << 10;
/// Units that are kept in memory: each may be as large as its abbreviations and the header of its lines allow.
const UNITS: usize = 8;
/// Most calls inlined in one another that are shown, the innermost ones.
const MAX_CHAIN: usize = 64;
/// Steps from an inlined call to the function's name.
const MAX_STEPS: usize = 8;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The inlined calls of a module.
#[derive(Debug, Default)]
pub(super) struct Inlines {
    ranges: Vec<Range>,
    texts: Texts,
}

/// Code of an inlined call.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    /// Inlined calls inside inlined calls are deeper.
    depth: isize,
    call: Call,
}

/// An inlined call. Texts are numbers, [`NONE`] where there is none.
#[derive(Clone, Copy, Debug)]
struct Call {
    name: u32,
    file: u32,
    line: u32,
}

/// An inlined call: what was called, and where the call stands in the source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InlinedCall<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) file: Option<&'a str>,
    pub(super) line: Option<u32>,
}

impl Inlines {
    /// Reads the module in `elf`; nothing if it has no debug information.
    pub(super) fn read(elf: &[u8]) -> Inlines {
        let load = |id: gimli::SectionId| {
            let bytes = elf::section(elf, id.name()).unwrap_or_default();
            Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        };
        let Ok(dwarf) = Dwarf::load(load) else { return Inlines::default() };
        let budget = Budget { until: Instant::now() + READING, work: 0 };
        let mut reader = Reader::new(elf, dwarf, budget);
        let ranges = reader.ranges();
        Inlines { ranges, texts: reader.texts }
    }

    /// The inlined calls that `address` lies in, outermost first.
    pub(super) fn at(&self, address: u64) -> Vec<InlinedCall<'_>> {
        let around = |range: &&Range| (range.start..range.end).contains(&address);
        let mut found: Vec<_> = self.ranges.iter().filter(around).collect();
        found.sort_by_key(|range| range.depth);
        let found = &found[found.len().saturating_sub(MAX_CHAIN)..];
        let call = |range: &&Range| {
            let Call { name, file, line } = range.call;
            let (name, file) = (self.texts.get(name), self.texts.get(file));
            InlinedCall { name, file, line: (line != 0).then_some(line) }
        };
        found.iter().map(call).collect()
    }
}

/// Looks at the clock only when some work is done.
struct Budget {
    until: Instant,
    work: usize,
}

impl Budget {
    /// Whether time is up, after so much more work.
    fn is_over(&mut self, work: usize) -> bool {
        self.work += work;
        if self.work < STEP {
            return false;
        }
        self.work = 0;
        Instant::now() >= self.until
    }
}

/// A module's debug information. Units are read when they are needed, and forgotten.
struct Reader<'a> {
    dwarf: Dwarf<Slice<'a>>,
    abbreviations: &'a [u8],
    lines: &'a [u8],
    line_strings: &'a [u8],
    /// In the order of the section.
    headers: Vec<UnitHeader<Slice<'a>>>,
    units: HashMap<usize, Option<Arc<Unit<Slice<'a>>>>>,
    budget: Budget,
    /// Names of functions, by the place of their entry in `.debug_info`.
    names: HashMap<usize, u32>,
    texts: Texts,
}

impl<'a> Reader<'a> {
    fn new(elf: &'a [u8], dwarf: Dwarf<Slice<'a>>, mut budget: Budget) -> Reader<'a> {
        let mut headers = Vec::new();
        let mut all = dwarf.units();
        while let Ok(Some(header)) = all.next()
            && !budget.is_over(1)
        {
            headers.push(header);
        }
        let section = |name| elf::section(elf, name).unwrap_or_default();
        let (abbreviations, lines, line_strings) =
            (section(".debug_abbrev"), section(".debug_line"), section(".debug_line_str"));
        let (units, names, texts) = (HashMap::new(), HashMap::new(), Texts::of(elf));
        Reader { dwarf, abbreviations, lines, line_strings, headers, units, budget, names, texts }
    }

    fn ranges(&mut self) -> Vec<Range> {
        let mut ranges = Vec::new();
        for unit in 0..self.headers.len() {
            // What is malformed ends its unit only.
            let _ = self.ranges_of(unit, &mut ranges);
            if ranges.len() >= MAX_RANGES || self.budget.is_over(STEP) {
                break;
            }
        }
        ranges
    }

    fn ranges_of(&mut self, index: usize, ranges: &mut Vec<Range>) -> gimli::Result<()> {
        let mut files = HashMap::new();
        let Some(unit) = self.unit(index) else { return Ok(()) };
        let mut entries = unit.entries_raw(None)?;
        let mut entry = gimli::DebuggingInformationEntry::null();
        // Depth of the function that the linker left out, whose addresses are another's, while inside it.
        let mut left_out = None;
        while !entries.is_empty() && ranges.len() < MAX_RANGES {
            let is_entry = entries.read_entry(&mut entry)?;
            // A list of ranges may be long and yield nothing.
            let has_ranges = matches!(entry.tag(), dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine);
            if self.budget.is_over(if has_ranges { STEP } else { 1 + entry.attrs().len() }) {
                break;
            }
            if !is_entry {
                continue;
            }
            if left_out.is_some_and(|depth| entry.depth() <= depth) {
                left_out = None;
            }
            match entry.tag() {
                dw::DW_TAG_subprogram if left_out.is_none() => {
                    let mut places = places(&self.dwarf, &unit, &entry)?;
                    if places.next()?.is_some_and(|place| place.begin <= 1) {
                        left_out = Some(entry.depth());
                    }
                }
                dw::DW_TAG_inlined_subroutine if left_out.is_none() => {
                    let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
                    let line = number(dw::DW_AT_call_line).and_then(|line| u32::try_from(line).ok());
                    let file = match entry.attr_value(dw::DW_AT_call_file) {
                        Some(AttributeValue::FileIndex(file)) => file,
                        _ => 0,
                    };
                    let mut places = places(&self.dwarf, &unit, &entry)?;
                    let origin = entry.attr_value(dw::DW_AT_abstract_origin);
                    let depth = entry.depth();
                    let mut found = Vec::new();
                    while let Some(place) = places.next()? {
                        found.push((place.begin, place.end));
                        if ranges.len() + found.len() >= MAX_RANGES {
                            break;
                        }
                    }
                    let name = self.name_of(index, origin);
                    let file = *files.entry(file).or_insert_with(|| self.file(&unit, file));
                    let call = Call { name, file, line: line.unwrap_or(0) };
                    ranges.extend(found.into_iter().map(|(start, end)| Range { start, end, depth, call }));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The name of the function at `origin`, seen from the unit `from`.
    fn name_of(&mut self, from: usize, origin: Option<AttributeValue<Slice<'_>>>) -> u32 {
        let Some((unit, offset)) = origin.and_then(|origin| self.resolve(from, origin)) else {
            return NONE;
        };
        let Some(place) = offset.to_debug_info_offset(&self.headers[unit]) else { return NONE };
        if let Some(known) = self.names.get(&place.0) {
            return *known;
        }
        let name = self.find_name(unit, offset);
        let name = self.texts.intern(name);
        self.names.insert(place.0, name);
        name
    }

    fn file(&mut self, unit: &Unit<Slice<'_>>, index: u64) -> u32 {
        let program = unit.line_program.as_ref();
        self.texts.intern(program.and_then(|program| file_name(program.header(), index, self.line_strings)))
    }

    /// A unit, with its abbreviations and the header of its lines.
    fn unit(&mut self, index: usize) -> Option<Arc<Unit<Slice<'a>>>> {
        if let Some(known) = self.units.get(&index) {
            return known.clone();
        }
        if self.units.len() >= UNITS {
            self.units.clear();
        }
        let unit = self.read_unit(index).map(Arc::new);
        self.units.insert(index, unit.clone());
        unit
    }

    fn read_unit(&self, index: usize) -> Option<Unit<Slice<'a>>> {
        let header = self.headers[index];
        let at = header.debug_abbrev_offset();
        let end = at.0.saturating_add(MAX_ABBREVIATIONS).min(self.abbreviations.len());
        let abbreviations =
            DebugAbbrev::new(&self.abbreviations[..end], LittleEndian).abbreviations(at).ok()?;
        let mut entries = header.entries(&abbreviations);
        entries.next_dfs().ok()?;
        if let Some(AttributeValue::DebugLineRef(at)) = entries.current()?.attr_value(dw::DW_AT_stmt_list)
            && elf::line_program(self.lines, at.0).is_none_or(|program| program.header > MAX_HEADER)
        {
            return None;
        }
        Unit::new_with_abbreviations(&self.dwarf, header, Arc::new(abbreviations)).ok()
    }

    fn find_name(&mut self, mut unit: usize, mut offset: UnitOffset) -> Option<String> {
        for _ in 0..MAX_STEPS {
            let around = self.unit(unit)?;
            let entry = around.entry(offset).ok()?;
            if let Some(name) = entry.attr_value(dw::DW_AT_name) {
                let name = self.dwarf.attr_string(&around, name).ok()?;
                return Some(printable(name.slice()));
            }
            let next = entry.attr_value(dw::DW_AT_abstract_origin);
            (unit, offset) =
                self.resolve(unit, next.or_else(|| entry.attr_value(dw::DW_AT_specification))?)?;
        }
        None
    }

    /// The entry that an attribute refers to.
    fn resolve(&self, from: usize, value: AttributeValue<Slice<'_>>) -> Option<(usize, UnitOffset)> {
        match value {
            AttributeValue::UnitRef(offset) => Some((from, offset)),
            AttributeValue::DebugInfoRef(at) => {
                let start = |header: &UnitHeader<Slice<'_>>| header.debug_info_offset().map(|start| start.0);
                let after =
                    self.headers.partition_point(|header| start(header).is_some_and(|start| start <= at.0));
                let unit = after.checked_sub(1)?;
                Some((unit, at.to_unit_offset(&self.headers[unit])?))
            }
            _ => None,
        }
    }
}

/// The code of an entry.
fn places<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &gimli::DebuggingInformationEntry<Slice<'a>>,
) -> gimli::Result<gimli::RangeIter<Slice<'a>>> {
    // gimli adds start and size, the last of each, without a look at what becomes of it.
    let (mut start, mut size) = (0, 0);
    for attribute in entry.attrs() {
        match (attribute.name(), attribute.value()) {
            (dw::DW_AT_low_pc, value) => start = start.max(dwarf.attr_address(unit, value)?.unwrap_or(0)),
            (dw::DW_AT_high_pc, AttributeValue::Udata(value)) => size = size.max(value),
            _ => {}
        }
    }
    if start.checked_add(size).is_none() {
        return Err(gimli::Error::AddressOverflow);
    }
    dwarf.die_ranges(unit, entry)
}
