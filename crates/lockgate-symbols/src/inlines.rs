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
use super::texts::{NONE, Texts, file_name, linkage_name, printable};

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
/// Steps from an inlined call to the function's name, and from there out of the scopes that it lies in.
const MAX_STEPS: usize = 8;
/// Most scopes, and functions in them, that are kept.
const MAX_SCOPES: usize = 1 << 20;

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
    scopes: Vec<Scope>,
    /// The scopes of functions that have no name for the linker, by the place of their entry: C++ in an unnamed namespace has such.
    scope_of: HashMap<usize, u32>,
    texts: Texts,
}

/// A namespace, class or function, whose entry has others within.
#[derive(Clone, Copy)]
struct Scope {
    unit: usize,
    offset: UnitOffset,
    /// Number of the one around it, [`NONE`] at the top.
    around: u32,
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
        Reader {
            dwarf,
            abbreviations,
            lines,
            line_strings,
            headers,
            units: HashMap::new(),
            budget,
            names: HashMap::new(),
            scopes: Vec::new(),
            scope_of: HashMap::new(),
            texts: Texts::of(elf),
        }
    }

    fn ranges(&mut self) -> Vec<Range> {
        let (mut ranges, mut origins) = (Vec::new(), Vec::new());
        for unit in 0..self.headers.len() {
            // What is malformed ends its unit only.
            let _ = self.ranges_of(unit, &mut ranges, &mut origins);
            if ranges.len() >= MAX_RANGES || self.budget.is_over(STEP) {
                break;
            }
        }
        // The scopes that a function lies in are known when all have been passed.
        for (range, origin) in ranges.iter_mut().zip(origins) {
            if self.budget.is_over(STEP) {
                break;
            }
            range.call.name = origin.map_or(NONE, |(unit, offset)| self.name_of(unit, offset));
        }
        ranges
    }

    /// The calls of a unit, and for each the entry of what is called.
    fn ranges_of(
        &mut self,
        index: usize,
        ranges: &mut Vec<Range>,
        origins: &mut Vec<Option<(usize, UnitOffset)>>,
    ) -> gimli::Result<()> {
        let mut files = HashMap::new();
        let Some(unit) = self.unit(index) else { return Ok(()) };
        let mut entries = unit.entries_raw(None)?;
        let mut entry = gimli::DebuggingInformationEntry::null();
        // Depth of the function that the linker left out, whose addresses are another's, while inside it.
        let mut left_out = None;
        // The scopes around the entry, each with its depth and number.
        let mut around: Vec<(isize, u32)> = Vec::new();
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
            while around.last().is_some_and(|(depth, _)| entry.depth() <= *depth) {
                around.pop();
            }
            self.note_scope(index, &entry, &mut around);
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
                    let origin = origin.and_then(|origin| self.resolve(index, origin));
                    let file = *files.entry(file).or_insert_with(|| self.file(&unit, file));
                    let call = Call { name: NONE, file, line: line.unwrap_or(0) };
                    origins.extend(std::iter::repeat_n(origin, found.len()));
                    ranges.extend(found.into_iter().map(|(start, end)| Range { start, end, depth, call }));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Notes an entry that others lie in, and a function without a name for the linker that lies in some.
    fn note_scope(
        &mut self,
        unit: usize,
        entry: &gimli::DebuggingInformationEntry<Slice<'_>>,
        around: &mut Vec<(isize, u32)>,
    ) {
        let is_function = entry.tag() == dw::DW_TAG_subprogram;
        let is_scope = is_function
            || matches!(
                entry.tag(),
                dw::DW_TAG_namespace
                    | dw::DW_TAG_class_type
                    | dw::DW_TAG_structure_type
                    | dw::DW_TAG_union_type
            );
        if !is_scope || self.scopes.len() >= MAX_SCOPES {
            return;
        }
        let has = |name| entry.attr_value(name).is_some();
        let outer = around.last().map_or(NONE, |(_, number)| *number);
        if is_function
            && outer != NONE
            && has(dw::DW_AT_name)
            && !has(dw::DW_AT_linkage_name)
            && let Some(place) = entry.offset().to_debug_info_offset(&self.headers[unit])
        {
            self.scope_of.insert(place.0, outer);
        }
        if entry.has_children() {
            around.push((entry.depth(), self.scopes.len() as u32));
            self.scopes.push(Scope { unit, offset: entry.offset(), around: outer });
        }
    }

    /// The name of the function whose entry that is.
    fn name_of(&mut self, unit: usize, offset: UnitOffset) -> u32 {
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

    /// The name that says most: the one that the linker sees, which has the scopes and the parameters of C++ and Rust, or else the plain one.
    fn find_name(&mut self, mut unit: usize, mut offset: UnitOffset) -> Option<String> {
        let mut plain = None;
        for _ in 0..MAX_STEPS {
            let around = self.unit(unit)?;
            let entry = around.entry(offset).ok()?;
            // (The second is what gcc writes for `-gdwarf-2` and `-gdwarf-3`.)
            let linkage = entry.attr_value(dw::DW_AT_linkage_name);
            if let Some(name) = linkage.or_else(|| entry.attr_value(dw::DW_AT_MIPS_linkage_name)) {
                return Some(linkage_name(self.dwarf.attr_string(&around, name).ok()?.slice()));
            }
            plain = plain.or_else(|| Some((unit, offset, entry.attr_value(dw::DW_AT_name)?)));
            let next = entry.attr_value(dw::DW_AT_abstract_origin);
            let next = next.or_else(|| entry.attr_value(dw::DW_AT_specification));
            let Some(next) = next.and_then(|next| self.resolve(unit, next)) else { break };
            (unit, offset) = next;
        }
        let (unit, offset, name) = plain?;
        let around = self.unit(unit)?;
        let name = printable(self.dwarf.attr_string(&around, name).ok()?.slice());
        Some(self.scopes_of(unit, offset) + &name)
    }

    /// The names of the scopes around a function that has none for the linker, as C++ writes them.
    fn scopes_of(&mut self, unit: usize, offset: UnitOffset) -> String {
        let place = offset.to_debug_info_offset(&self.headers[unit]);
        let mut number = place.and_then(|place| self.scope_of.get(&place.0)).copied().unwrap_or(NONE);
        let mut path = String::new();
        for _ in 0..MAX_STEPS {
            let Some(scope) = self.scopes.get(number as usize).copied() else { break };
            let (name, around) = self.scope(scope).unwrap_or((String::new(), scope.around));
            number = around;
            path.insert_str(0, &(if name.is_empty() { name } else { name + "::" }));
        }
        path
    }

    /// The name of a scope, and the number of the one around it.
    fn scope(&mut self, scope: Scope) -> Option<(String, u32)> {
        let unit = self.unit(scope.unit)?;
        let entry = unit.entry(scope.offset).ok()?;
        let named = |text: &str| Some((text.to_owned(), scope.around));
        match (entry.attr_value(dw::DW_AT_name), entry.tag()) {
            (Some(name), _) => named(&printable(self.dwarf.attr_string(&unit, name).ok()?.slice())),
            (None, dw::DW_TAG_namespace) => named("(anonymous namespace)"),
            // A function is defined elsewhere than in the scope that declares it, and the classes in it lie where it is defined.
            (None, dw::DW_TAG_subprogram) => {
                self.declared(scope.unit, entry.attr_value(dw::DW_AT_specification)?)
            }
            // (A lambda's.)
            (None, _) => named("(anonymous class)"),
        }
    }

    /// The name of a function by its declaration, and the number of the scope that this lies in.
    fn declared(&mut self, unit: usize, specification: AttributeValue<Slice<'_>>) -> Option<(String, u32)> {
        let (unit, offset) = self.resolve(unit, specification)?;
        let place = offset.to_debug_info_offset(&self.headers[unit])?;
        let around = self.scope_of.get(&place.0).copied().unwrap_or(NONE);
        let unit = self.unit(unit)?;
        let entry = unit.entry(offset).ok()?;
        let is_whole = entry.attr_value(dw::DW_AT_linkage_name);
        match is_whole.or_else(|| entry.attr_value(dw::DW_AT_MIPS_linkage_name)) {
            Some(name) => Some((linkage_name(self.dwarf.attr_string(&unit, name).ok()?.slice()), NONE)),
            None => {
                let name = entry.attr_value(dw::DW_AT_name)?;
                Some((printable(self.dwarf.attr_string(&unit, name).ok()?.slice()), around))
            }
        }
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
