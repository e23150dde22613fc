//! Calls that the compiler inlined, from a module's debug information.
//!
//! The bytes come from the module, so they may be hostile. One pass over `.debug_info`, without recursion, that gives up
//! after [`READING`] or [`MAX_RANGES`]; what was found until then is used. (`addr2line`, which reads the same, descends
//! nested entries by recursion: a module of some hundred kilobytes would overflow the host's stack. See
//! docs/decisions/0026-backtraces.md.)
use gimli::{AttributeValue, Dwarf, EndianSlice, LittleEndian, Unit, UnitOffset, constants as dw};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::elf;
use super::symbols::{file_name, printable};

/// Most ranges of inlined calls that are kept.
const MAX_RANGES: usize = 1 << 20;
/// How long a module's information is read at most; that of SQLite takes some ten milliseconds.
const READING: Duration = Duration::from_secs(5);
/// Most calls inlined in one another that are shown, the innermost ones.
const MAX_CHAIN: usize = 64;
/// Steps from an inlined call to the function's name.
const MAX_STEPS: usize = 8;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The inlined calls of a module.
#[derive(Debug, Default)]
pub(super) struct Inlines {
    ranges: Vec<Range>,
    texts: Vec<String>,
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

/// An inlined call. Texts are indices, [`NONE`] where there is none.
#[derive(Clone, Copy, Debug)]
struct Call {
    name: u32,
    file: u32,
    line: u32,
}

const NONE: u32 = u32::MAX;

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
        let lines = elf::section(elf, ".debug_line_str").unwrap_or_default();
        let until = Instant::now() + READING;
        let information = Information::new(dwarf, lines, until);
        let mut reader = Reader { information: &information, names: HashMap::new(), texts: Texts::default() };
        let ranges = reader.ranges(until);
        Inlines { ranges, texts: reader.texts.all }
    }

    /// The inlined calls that `address` lies in, outermost first.
    pub(super) fn at(&self, address: u64) -> Vec<InlinedCall<'_>> {
        let around = |range: &&Range| (range.start..range.end).contains(&address);
        let mut found: Vec<_> = self.ranges.iter().filter(around).collect();
        found.sort_by_key(|range| range.depth);
        let found = &found[found.len().saturating_sub(MAX_CHAIN)..];
        let text = |index: u32| self.texts.get(index as usize).map(String::as_str);
        let call = |range: &&Range| {
            let Call { name, file, line } = range.call;
            InlinedCall { name: text(name), file: text(file), line: (line != 0).then_some(line) }
        };
        found.iter().map(call).collect()
    }
}

/// Texts, each once.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    known: HashMap<String, u32>,
}

impl Texts {
    fn intern(&mut self, text: Option<String>) -> u32 {
        let Some(text) = text else { return NONE };
        let next = self.all.len() as u32;
        let index = *self.known.entry(text.clone()).or_insert(next);
        if index == next {
            self.all.push(text);
        }
        index
    }
}

/// A module's debug information.
struct Information<'a> {
    dwarf: Dwarf<Slice<'a>>,
    /// `.debug_line_str`.
    lines: &'a [u8],
    /// In the order of the section.
    units: Vec<Unit<Slice<'a>>>,
}

struct Reader<'i, 'a> {
    information: &'i Information<'a>,
    /// Names of functions, by the place of their entry in `.debug_info`.
    names: HashMap<usize, u32>,
    texts: Texts,
}

impl Reader<'_, '_> {
    fn ranges(&mut self, until: Instant) -> Vec<Range> {
        let mut ranges = Vec::new();
        for unit in 0..self.information.units.len() {
            // What is malformed ends its unit only.
            let _ = self.unit(unit, until, &mut ranges);
            if ranges.len() >= MAX_RANGES || Instant::now() >= until {
                break;
            }
        }
        ranges
    }

    fn unit(&mut self, index: usize, until: Instant, ranges: &mut Vec<Range>) -> gimli::Result<()> {
        let mut files = HashMap::new();
        let Information { dwarf, units, .. } = self.information;
        let unit = &units[index];
        let mut entries = unit.entries_raw(None)?;
        let mut entry = gimli::DebuggingInformationEntry::null();
        // Depth of the function that the linker left out, whose addresses are another's, while inside it.
        let mut left_out = None;
        let mut read = 0_u32;
        while !entries.is_empty() {
            read = read.wrapping_add(1);
            if ranges.len() >= MAX_RANGES || (read.is_multiple_of(1024) && Instant::now() >= until) {
                break;
            }
            if !entries.read_entry(&mut entry)? {
                continue;
            }
            if left_out.is_some_and(|depth| entry.depth() <= depth) {
                left_out = None;
            }
            match entry.tag() {
                dw::DW_TAG_subprogram if left_out.is_none() => {
                    let mut places = places(dwarf, unit, &entry)?;
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
                    let mut places = places(dwarf, unit, &entry)?;
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
                    let file = *files.entry(file).or_insert_with(|| self.file(index, file));
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
        let Some((unit, offset)) = origin.and_then(|origin| self.information.resolve(from, origin)) else {
            return NONE;
        };
        let Some(place) = offset.to_debug_info_offset(&self.information.units[unit].header) else {
            return NONE;
        };
        if let Some(known) = self.names.get(&place.0) {
            return *known;
        }
        let name = self.information.find_name(unit, offset);
        let name = self.texts.intern(name);
        self.names.insert(place.0, name);
        name
    }

    fn file(&mut self, unit: usize, index: u64) -> u32 {
        let Information { units, lines, .. } = self.information;
        let program = units[unit].line_program.as_ref();
        self.texts.intern(program.and_then(|program| file_name(program.header(), index, lines)))
    }
}

/// The code of an entry.
fn places<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &gimli::DebuggingInformationEntry<Slice<'a>>,
) -> gimli::Result<gimli::RangeIter<Slice<'a>>> {
    // gimli adds start and size without a look at what becomes of it.
    let start = match entry.attr_value(dw::DW_AT_low_pc) {
        Some(value) => dwarf.attr_address(unit, value)?,
        None => None,
    };
    if let (Some(start), Some(AttributeValue::Udata(size))) = (start, entry.attr_value(dw::DW_AT_high_pc))
        && start.checked_add(size).is_none()
    {
        return Err(gimli::Error::AddressOverflow);
    }
    dwarf.die_ranges(unit, entry)
}

impl<'a> Information<'a> {
    fn new(dwarf: Dwarf<Slice<'a>>, lines: &'a [u8], until: Instant) -> Information<'a> {
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            match dwarf.unit(header) {
                Ok(unit) if Instant::now() < until => units.push(unit),
                _ => break,
            }
        }
        Information { dwarf, lines, units }
    }

    fn find_name(&self, mut unit: usize, mut offset: UnitOffset) -> Option<String> {
        for _ in 0..MAX_STEPS {
            let entry = self.units[unit].entry(offset).ok()?;
            if let Some(name) = entry.attr_value(dw::DW_AT_name) {
                let name = self.dwarf.attr_string(&self.units[unit], name).ok()?;
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
                let start = |unit: &Unit<Slice<'_>>| unit.header.debug_info_offset().map(|start| start.0);
                let after = self.units.partition_point(|unit| start(unit).is_some_and(|start| start <= at.0));
                let unit = after.checked_sub(1)?;
                Some((unit, at.to_unit_offset(&self.units[unit].header)?))
            }
            _ => None,
        }
    }
}
