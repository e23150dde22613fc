//! `.debug_info` (DWARF 2 to 5): lengths of code, and expressions that name rsp, re-emitted entry by entry.
//! On the way the lists of ranges and of locations that entries refer to are noted, for [`super::lists`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gimli::constants as dw;
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugInfo, DwAt, DwForm, DwTag, Encoding,
    EndianSlice, LittleEndian, Reader as _, UnitHeader, UnitOffset, UnitType,
};

use super::expr::{self, Edit, EntryRef, Role};
use super::splice::{Splice, Spliced};
use super::{Context, Edge, Malformed, Section, Sections, Stats, sections};
use crate::elf::{Object, reloc};
use crate::leb128::{push_sleb, push_uleb};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// A place in the object as it was read: section index and offset.
type Place = (usize, u64);

/// What a unit says about the addresses in its lists.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) encoding: Encoding,
    /// The unit itself.
    at: (usize, usize),
    /// What offsets in its lists count from, if that is defined in this object.
    pub(super) base: Option<Place>,
    /// Its first address in `.debug_addr`.
    addresses: Option<Place>,
}

/// The lists of ranges and of locations that entries refer to, with the units they belong to.
#[derive(Debug, Default)]
pub(super) struct Lists {
    units: Vec<Unit>,
    /// Starts of lists, the index of their unit, and what the starts of their ranges stand for.
    heads: BTreeMap<Place, (usize, Edge)>,
    /// What the fields of `.debug_addr` sections point at.
    addresses: BTreeMap<Place, Place>,
}

impl Unit {
    /// New offset of the entry at old offset `entry` of this unit, once `sections` hold the entries.
    pub(super) fn entry_offset(&self, sections: &Sections, entry: usize) -> usize {
        entry_offset(sections, self.at, entry)
    }
}

impl Lists {
    /// No lists yet; the addresses of `object`'s `.debug_addr`.
    pub(super) fn new(object: &Object, context: &Context<'_>) -> Self {
        let mut lists = Lists::default();
        for section in sections(object, |name| name == ".debug_addr") {
            for reloc in section.relocs {
                let target = context.target(reloc);
                lists.addresses.extend(target.map(|target| ((section.index, reloc.offset), target)));
            }
        }
        lists
    }

    /// The lists that start in section `index`, by offset: offset, unit, and what starts of ranges stand for.
    pub(super) fn heads_in(&self, index: usize) -> impl Iterator<Item = (usize, &Unit, Edge)> {
        let heads = self.heads.range((index, 0)..=(index, u64::MAX));
        heads.map(|(&(_, offset), &(unit, edge))| (offset as usize, &self.units[unit], edge))
    }

    /// The place that address number `index` of `unit` is.
    pub(super) fn address(&self, unit: &Unit, index: u64) -> Option<Place> {
        let (section, base) = unit.addresses?;
        self.addresses.get(&(section, base.checked_add(index.checked_mul(8)?)?)).copied()
    }
}

/// References from expressions to entries that must be found where they were, since their field cannot
/// change: section and offset of the unit, and offset of the entry in it.
#[derive(Debug, Default)]
pub(super) struct FixedRefs(Vec<((usize, usize), usize)>);

impl FixedRefs {
    /// Notes a reference to the entry at offset `entry` of `unit`.
    pub(super) fn push(&mut self, unit: &Unit, entry: usize) {
        self.0.push((unit.at, entry));
    }

    /// Refuses references whose entry moved within its unit, naming the section. (gcc and clang put the
    /// types that expressions use first in a unit, before anything that grows.)
    pub(super) fn check(&self, sections: &Sections) -> Result<(), (usize, Malformed)> {
        for &((section, start), entry) in &self.0 {
            if entry_offset(sections, (section, start), entry) != entry {
                let reason = "is referred to by an expression of fixed size, and moved";
                return Err((section, Malformed::at(start + entry, reason)));
            }
        }
        Ok(())
    }
}

/// New offset in its unit of the entry at old offset `entry` of the unit at `(section, start)`.
fn entry_offset(sections: &Sections, (section, start): (usize, usize), entry: usize) -> usize {
    let new = sections.iter().find(|(index, _)| *index == section);
    let offset =
        new.map(|(_, new)| new.moved.offset((start + entry) as u64) - new.moved.offset(start as u64));
    offset.map_or(entry, |offset| offset as usize)
}

/// Re-emits a section of entries, notes the lists they refer to in `lists` and the references that must not
/// change in `fixed`.
pub(super) fn rewrite(
    section: &Section<'_>,
    object: &Object,
    context: &Context<'_>,
    lists: &mut Lists,
    fixed: &mut FixedRefs,
    stats: &mut Stats,
) -> Result<Spliced, Malformed> {
    let data = relocated(section, context);
    let abbreviations = sections(object, |name| name == ".debug_abbrev").next();
    let mut tables =
        Tables { bytes: abbreviations.map_or(&[], |section| section.data), known: BTreeMap::new() };
    let info = DebugInfo::new(&data, LittleEndian);
    let mut walk = Walk {
        section,
        object,
        context,
        lists,
        fixed,
        stats,
        room: ATTRIBUTES * data.len(),
        splice: Splice::new(section),
        refs: Vec::new(),
    };
    let mut units = info.units();
    while let Some(header) = units.next().map_err(|error| walk.malformed(walk.splice.pos(), error))? {
        walk.unit(&header, &mut tables)?;
    }
    walk.finish()
}

/// The section's bytes with its relocations applied, as if every section were loaded at address 0.
fn relocated(section: &Section<'_>, context: &Context<'_>) -> Vec<u8> {
    let mut data = section.data.to_vec();
    for reloc in section.relocs {
        let size = match reloc.kind {
            reloc::ABS32 => 4,
            reloc::ABS64 => 8,
            _ => continue,
        };
        let at = reloc.offset as usize;
        if let (Some((_, target)), Some(field)) = (context.target(reloc), data.get_mut(at..at + size)) {
            field.copy_from_slice(&target.to_le_bytes()[..size]);
        }
    }
    data
}

/// Most attributes for each byte of the section. Some have no bytes, so an entry of one byte could have any number.
const ATTRIBUTES: usize = 16;

/// Tables of abbreviations, by offset, each with its end. They are read once, and must not overlap: else every unit could have the
/// same bytes read again.
struct Tables<'a> {
    bytes: &'a [u8],
    known: BTreeMap<usize, (usize, Arc<Abbreviations>)>,
}

impl Tables<'_> {
    /// The table of the unit at `unit`.
    fn get(&mut self, unit: usize, at: DebugAbbrevOffset) -> Result<Arc<Abbreviations>, Malformed> {
        if let Some((_, known)) = self.known.get(&at.0) {
            return Ok(known.clone());
        }
        let malformed =
            |error| Malformed::at(unit, format!("has abbreviations that cannot be read: {error}"));
        let end = self.end(at.0).map_err(malformed)?;
        let before = self.known.range(..at.0).next_back();
        if before.is_some_and(|(_, (end, _))| *end > at.0) {
            return Err(Malformed::at(unit, "has abbreviations that overlap those of another unit"));
        }
        let table = DebugAbbrev::new(self.bytes, LittleEndian).abbreviations(at).map_err(malformed)?;
        let table = Arc::new(table);
        self.known.insert(at.0, (end, table.clone()));
        Ok(table)
    }

    /// Where the table at `at` ends; not looked for behind the next one that is known (DWARF standard, version 5, 7.5.3).
    fn end(&self, at: usize) -> gimli::Result<usize> {
        let limit = self.known.range(at..).next().map_or(self.bytes.len(), |(start, _)| *start);
        let mut rest = EndianSlice::new(self.bytes.get(at..limit).unwrap_or_default(), LittleEndian);
        while rest.read_uleb128()? != 0 {
            rest.read_uleb128()?;
            rest.read_u8()?;
            loop {
                let (name, form) = (rest.read_uleb128()?, rest.read_uleb128()?);
                if form == u64::from(dw::DW_FORM_implicit_const.0) {
                    rest.read_sleb128()?;
                }
                if (name, form) == (0, 0) {
                    break;
                }
            }
        }
        Ok(limit - rest.len())
    }
}

/// An attribute with the offsets of its bytes in the section.
struct Attribute<'a> {
    name: DwAt,
    form: DwForm,
    value: AttributeValue<Slice<'a>>,
    range: Range<usize>,
}

/// A reference to an entry of the same unit, to be set when all entries have moved.
struct UnitRef {
    /// Offset of the field in the new section, and its size.
    field: Range<usize>,
    /// Old offset of the unit, and of the entry in it.
    unit: usize,
    entry: usize,
}

struct Walk<'a> {
    section: &'a Section<'a>,
    object: &'a Object,
    context: &'a Context<'a>,
    lists: &'a mut Lists,
    fixed: &'a mut FixedRefs,
    stats: &'a mut Stats,
    splice: Splice<'a>,
    refs: Vec<UnitRef>,
    /// Attributes that may follow.
    room: usize,
}

impl<'a> Walk<'a> {
    fn malformed(&self, at: usize, error: gimli::Error) -> Malformed {
        Malformed::at(at, format!("cannot be read: {error}"))
    }

    fn unit(&mut self, header: &UnitHeader<Slice<'a>>, tables: &mut Tables<'_>) -> Result<(), Malformed> {
        let start = header.debug_info_offset().map_or(0, |offset| offset.0);
        let end = start + header.length_including_self();
        let encoding = header.encoding();
        if encoding.address_size != 8 || encoding.format != gimli::Format::Dwarf32 {
            return Err(Malformed::at(start, "has addresses that are not 8 bytes, or the 64-bit format"));
        }
        let abbreviations = tables.get(start, header.debug_abbrev_offset())?;
        let new_start = self.splice.new_pos();
        if let UnitType::Type { type_offset, .. } = header.type_() {
            // The last field of the unit's header.
            let field = start + header.size_of_header() - 4;
            self.splice.copy_to(field)?;
            self.push_ref(field..field + 4, start, type_offset.0);
        }
        let mut unit = Unit { encoding, at: (self.section.index, start), base: None, addresses: None };
        let mut unit_index = None;
        let mut entries =
            header.entries_raw(&abbreviations, None).map_err(|error| self.malformed(start, error))?;
        let mut attributes = Vec::new();
        while !entries.is_empty() {
            let at = start + entries.next_offset().0;
            let fail = |error| Malformed::at(at, format!("cannot be read: {error}"));
            let Some(entry) = entries.read_abbreviation().map_err(fail)? else { continue };
            attributes.clear();
            self.room = self
                .room
                .checked_sub(entry.attributes().len())
                .ok_or_else(|| Malformed::at(at, "has more attributes than fit into its bytes"))?;
            for spec in entry.attributes() {
                // Where the form stands before the value, no field is what its form says. No compiler writes that.
                if spec.form() == dw::DW_FORM_indirect {
                    return Err(Malformed::at(at, "has an attribute whose form stands before its value"));
                }
                let from = start + entries.next_offset().0;
                let attribute = entries.read_attribute(*spec).map_err(fail)?;
                let range = from..start + entries.next_offset().0;
                let (name, form) = (attribute.name(), attribute.form());
                attributes.push(Attribute { name, form, value: attribute.value(), range });
            }
            // The first entry is the unit's own: it says what the others' lists count from, and its ranges are
            // all of the code.
            let edge = if unit_index.is_none() { Edge::Entry } else { Edge::Body };
            let unit_index = *match unit_index {
                Some(ref index) => index,
                None => {
                    self.read_bases(&mut unit, &attributes)?;
                    self.lists.units.push(unit.clone());
                    unit_index.insert(self.lists.units.len() - 1)
                }
            };
            self.stats.entries += 1;
            self.entry(&unit, (unit_index, edge), entry.tag(), &attributes)?;
        }
        self.splice.copy_to(end)?;
        self.splice.patch_length(new_start);
        Ok(())
    }

    fn read_bases(&self, unit: &mut Unit, attributes: &[Attribute<'_>]) -> Result<(), Malformed> {
        for attribute in attributes {
            match attribute.name {
                dw::DW_AT_addr_base | dw::DW_AT_GNU_addr_base => unit.addresses = self.target(attribute),
                dw::DW_AT_dwo_name | dw::DW_AT_GNU_dwo_name => {
                    let reason = "is split from its .dwo file: compile without -gsplit-dwarf";
                    return Err(Malformed::at(attribute.range.start, reason));
                }
                _ => {}
            }
        }
        let low = attributes.iter().find(|attribute| attribute.name == dw::DW_AT_low_pc);
        unit.base = low.and_then(|low| self.address(unit, low));
        Ok(())
    }

    fn entry(
        &mut self,
        unit: &Unit,
        lists_of: (usize, Edge),
        tag: DwTag,
        attributes: &[Attribute<'_>],
    ) -> Result<(), Malformed> {
        let low = attributes.iter().find(|attribute| attribute.name == dw::DW_AT_low_pc);
        let low = low.and_then(|low| self.address(unit, low));
        for attribute in attributes {
            match &attribute.value {
                AttributeValue::Addr(_) => {
                    let edge = match attribute.name {
                        dw::DW_AT_high_pc | dw::DW_AT_call_return_pc => Edge::End,
                        // Before DWARF 5 a call site's address is its return address.
                        dw::DW_AT_low_pc if tag == dw::DW_TAG_GNU_call_site => Edge::End,
                        _ => lists_of.1,
                    };
                    self.splice.mark(attribute.range.start, edge);
                }
                AttributeValue::Udata(_) | AttributeValue::Sdata(_)
                    if matches!(attribute.name, dw::DW_AT_high_pc | dw::DW_AT_entry_pc) =>
                {
                    self.length(attribute, low, lists_of.1)?;
                }
                AttributeValue::UnitRef(UnitOffset(entry)) => {
                    if attribute.form == dw::DW_FORM_ref_udata {
                        self.fixed.push(unit, *entry);
                    } else {
                        self.splice.copy_to(attribute.range.start)?;
                        self.push_ref(attribute.range.clone(), unit.at.1, *entry);
                    }
                }
                AttributeValue::Exprloc(expression) => {
                    self.expression(unit, attribute, expression.0.slice())?;
                }
                AttributeValue::LocationListsRef(_) | AttributeValue::RangeListsRef(_)
                    if attribute.name != dw::DW_AT_GNU_locviews =>
                {
                    if let Some(head) = self.target(attribute) {
                        self.lists.heads.entry(head).or_insert(lists_of);
                    }
                }
                AttributeValue::DebugLocListsBase(_) | AttributeValue::DebugRngListsBase(_) => {
                    self.indexed_lists(attribute, lists_of.0);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What a relocated field points at.
    fn target(&self, attribute: &Attribute<'_>) -> Option<Place> {
        self.context.target(self.section.reloc_at(attribute.range.start)?)
    }

    /// The place that an attribute of class address is.
    fn address(&self, unit: &Unit, attribute: &Attribute<'_>) -> Option<Place> {
        match attribute.value {
            AttributeValue::DebugAddrIndex(index) => self.lists.address(unit, index.0 as u64),
            _ => self.target(attribute),
        }
    }

    /// An offset from the entry's first address, in bytes of code.
    fn length(&mut self, attribute: &Attribute<'_>, low: Option<Place>, edge: Edge) -> Result<(), Malformed> {
        let at = attribute.range.start;
        let (Some(low), Some(len)) = (low, attribute.value.udata_value()) else { return Ok(()) };
        let new = if attribute.name == dw::DW_AT_entry_pc {
            let start = self.context.locate(at, low, edge)?;
            start.zip(self.context.locate(at, (low.0, low.1.wrapping_add(len)), edge)?)
        } else {
            self.context.range(at, low, len, edge)?
        };
        let Some((start, end)) = new else { return Ok(()) };
        let len = end.wrapping_sub(start);
        let mut bytes = Vec::new();
        match attribute.form {
            dw::DW_FORM_udata => push_uleb(&mut bytes, len),
            dw::DW_FORM_sdata => push_sleb(&mut bytes, len as i64),
            dw::DW_FORM_data1 | dw::DW_FORM_data2 | dw::DW_FORM_data4 | dw::DW_FORM_data8
                if attribute.range.len() == 8 || len < 1 << (8 * attribute.range.len()) =>
            {
                bytes.extend_from_slice(&len.to_le_bytes()[..attribute.range.len()]);
            }
            _ => return Err(Malformed::at(at, "has a length of code that does not fit its field any more")),
        }
        self.splice.copy_to(at)?;
        self.splice.replace_to(attribute.range.end, &bytes)
    }

    /// An expression that holds wherever its entry does, or at a call: there the bias is 0.
    fn expression(&mut self, unit: &Unit, attribute: &Attribute<'_>, code: &[u8]) -> Result<(), Malformed> {
        let Range { start: at, end } = attribute.range;
        let start = end - code.len();
        let role = match attribute.name {
            dw::DW_AT_frame_base => Role::Address,
            _ => Role::Location,
        };
        let analysis = match expr::analyse(code, unit.encoding, role, 0) {
            Ok(analysis) => analysis,
            Err(_) => {
                // An empty expression says that the object is optimised out.
                self.stats.lost_locations += 1;
                self.splice.copy_to(at)?;
                let none = self.expression_length(attribute, 0)?;
                return self.splice.replace_to(end, &none);
            }
        };
        if !analysis.edits.is_empty() {
            let len = expr::apply(code, &analysis.edits).len();
            self.splice.copy_to(at)?;
            let len = self.expression_length(attribute, len)?;
            self.splice.replace_to(start, &len)?;
        }
        let mut edits = analysis.edits.iter().peekable();
        for EntryRef { entry, field } in &analysis.refs {
            let Some(field) = field else {
                self.fixed.push(unit, *entry);
                continue;
            };
            while let Some(edit) = edits.next_if(|edit| edit.range.start < field.start) {
                self.edit(start, edit)?;
            }
            self.splice.copy_to(start + field.start)?;
            self.push_ref(start + field.start..start + field.end, unit.at.1, *entry);
        }
        edits.try_for_each(|edit| self.edit(start, edit))
    }

    /// Makes an edit of the expression at `start`.
    fn edit(&mut self, start: usize, edit: &Edit) -> Result<(), Malformed> {
        self.splice.copy_to(start + edit.range.start)?;
        self.splice.replace_to(start + edit.range.end, &edit.bytes)
    }

    /// The length field of an expression of `len` bytes.
    fn expression_length(&self, attribute: &Attribute<'_>, len: usize) -> Result<Vec<u8>, Malformed> {
        let size = match attribute.form {
            dw::DW_FORM_block1 => 1,
            dw::DW_FORM_block2 => 2,
            dw::DW_FORM_block4 => 4,
            _ => {
                let mut bytes = Vec::new();
                push_uleb(&mut bytes, len as u64);
                return Ok(bytes);
            }
        };
        if len >> (8 * size) != 0 {
            return Err(Malformed::at(attribute.range.start, "has an expression that does not fit any more"));
        }
        Ok(len.to_le_bytes()[..size].to_vec())
    }

    /// All lists in the unit's table of list offsets, which a `…lists_base` attribute names.
    fn indexed_lists(&mut self, attribute: &Attribute<'_>, unit_index: usize) {
        let Some((index, table)) = self.target(attribute) else { return };
        let data = &self.object.sections[index].data;
        // The table's length is the last field of the header before it (DWARF 5 §7.28, §7.29).
        let word = |at: usize| Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?) as usize);
        let table = table as usize;
        let count = table.checked_sub(4).and_then(word).unwrap_or(0);
        for entry in 0..count.min(data.len() / 4) {
            let head = word(table + 4 * entry).map(|offset| (index, (table + offset) as u64));
            let head = head.map(|head| (head, (unit_index, Edge::Body)));
            self.lists.heads.extend(head);
        }
    }

    /// Notes the reference in old bytes `field`, which are the next to be copied.
    fn push_ref(&mut self, field: Range<usize>, unit: usize, entry: usize) {
        let new = self.splice.new_pos();
        self.refs.push(UnitRef { field: new..new + field.len(), unit, entry });
    }

    fn finish(mut self) -> Result<Spliced, Malformed> {
        self.splice.copy_to(self.section.data.len())?;
        for UnitRef { field, unit, entry } in &self.refs {
            let moved = self.splice.moved();
            let distance = moved.offset((unit + entry) as u64) - moved.offset(*unit as u64);
            if field.len() < 8 && distance >> (8 * field.len()) != 0 {
                return Err(Malformed::at(unit + entry, "is too far from an entry that refers to it"));
            }
            self.splice.patch(field.start, &distance.to_le_bytes()[..field.len()]);
        }
        self.splice.finish()
    }
}
