//! Lists of address ranges and of locations: `.debug_rnglists` and `.debug_loclists` (DWARF 5),
//! `.debug_ranges` and `.debug_loc` (DWARF 2 to 4), re-emitted for moved code.
//!
//! Only lists that an entry refers to are read. What lies between them is copied: gcc puts the view numbers
//! of a location list right before it, without any header.

use std::collections::HashSet;
use std::ops::Range;

use super::bytes::Cursor;
use super::expr::{self, Analysis, Edit, EntryRef, Role};
use super::info::{FixedRefs, Lists, Unit};
use super::splice::{Splice, Spliced};
use super::{Context, Edge, Malformed, Section, Sections, Stats};
use crate::leb128::push_uleb;

/// What lists of one section hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ranges,
    Locations,
}

impl Kind {
    fn of(section: &Section<'_>) -> Kind {
        match section.name {
            ".debug_loc" | ".debug_loclists" => Kind::Locations,
            _ => Kind::Ranges,
        }
    }
}

/// What re-emitting lists needs beside the section.
pub(super) struct Tools<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) lists: &'a Lists,
    /// The new `.debug_info`.
    pub(super) entries: &'a Sections,
    pub(super) fixed: &'a mut FixedRefs,
    pub(super) stats: &'a mut Stats,
}

/// Re-emits `.debug_rnglists` or `.debug_loclists` (DWARF 5 §2.17.3, §2.6.2, §7.28, §7.29).
pub(super) fn rewrite_v5(section: &Section<'_>, tools: &mut Tools<'_>) -> Result<Spliced, Malformed> {
    let kind = Kind::of(section);
    let lists = tools.lists;
    let mut heads = lists.heads_in(section.index).peekable();
    let mut splice = Splice::new(section);
    let mut tails = HashSet::new();
    while splice.pos() < section.data.len() {
        let start = splice.pos();
        let new_start = splice.new_pos();
        let mut header = Cursor::new(section.data, start, section.data.len())?;
        let end = header.unit_end()?;
        if (header.u16()?, header.u8()?, header.u8()?) != (5, 8, 0) {
            return Err(Malformed::at(start, "has an unknown version, or addresses that are not 8 bytes"));
        }
        let count = header.u32()? as usize;
        let table = header.pos();
        let offsets = Cursor::new(section.data, table, end)?.take(count.saturating_mul(4))?;
        splice.copy_to(table + offsets.len())?;
        while let Some((head, unit, edge)) = heads.next_if(|&(head, ..)| head < end) {
            if tails.contains(&head) {
                continue;
            }
            splice.copy_to(head)?;
            let cursor = Cursor::new(section.data, head, end)?;
            let mut list = List {
                section,
                kind,
                tools,
                unit,
                edge,
                base: unit.base,
                tails: &mut tails,
                ahead: Vec::new(),
            };
            list.rewrite_v5(cursor, &mut splice)?;
        }
        splice.copy_to(end)?;
        splice.patch_length(new_start);
        let new_table = new_start + (table - start);
        for (index, offset) in offsets.chunks_exact(4).enumerate() {
            let offset = u32::from_le_bytes(offset.try_into().expect("chunks of four"));
            let list = splice.moved().offset(table as u64 + u64::from(offset)) as usize - new_table;
            splice.patch(new_table + 4 * index, &(list as u32).to_le_bytes());
        }
    }
    splice.finish()
}

/// Re-emits `.debug_ranges` or `.debug_loc` (DWARF 4 §2.17.3, §2.6.2).
pub(super) fn rewrite_v4(section: &Section<'_>, tools: &mut Tools<'_>) -> Result<Spliced, Malformed> {
    let kind = Kind::of(section);
    let lists = tools.lists;
    let mut splice = Splice::new(section);
    let mut tails = HashSet::new();
    for (head, unit, edge) in lists.heads_in(section.index) {
        if tails.contains(&head) {
            continue;
        }
        splice.copy_to(head)?;
        let cursor = Cursor::new(section.data, head, section.data.len())?;
        let mut list =
            List { section, kind, tools, unit, edge, base: unit.base, tails: &mut tails, ahead: Vec::new() };
        list.rewrite_v4(cursor, &mut splice)?;
    }
    splice.finish()
}

/// A list while it is re-emitted.
struct List<'a, 'b> {
    section: &'a Section<'a>,
    kind: Kind,
    tools: &'a mut Tools<'b>,
    unit: &'a Unit,
    /// What starts of ranges stand for.
    edge: Edge,
    /// What offset pairs count from.
    base: Option<(usize, u64)>,
    /// Offsets of entries at which a list may start that ends like this one: gcc shares such ends.
    tails: &'a mut HashSet<usize>,
    /// Entries of which that is not known yet: what follows must not count from a base that only this list has.
    ahead: Vec<usize>,
}

/// Part of a list entry's range of code, new offsets, and the bias of rsp there.
struct Part {
    range: Range<u64>,
    bias: i64,
}

impl List<'_, '_> {
    fn rewrite_v5(&mut self, mut cursor: Cursor<'_>, splice: &mut Splice<'_>) -> Result<(), Malformed> {
        loop {
            let at = cursor.pos();
            let code = cursor.u8()?;
            let operation = match self.kind {
                Kind::Locations => code,
                // Range lists have no default location (5), and number what follows it one lower.
                Kind::Ranges if code >= 5 => code.saturating_add(1),
                Kind::Ranges => code,
            };
            match operation {
                0 | 1 | 6 => self.ends_or_sets_base(at),
                4 => self.counts_from_base(at),
                _ => self.ahead.push(at),
            }
            match operation {
                0 => return splice.copy_to(cursor.pos()),
                // base_addressx
                1 => self.base = self.tools.lists.address(self.unit, cursor.uleb()?),
                // startx_endx
                2 => {
                    let (start, end) = (cursor.uleb()?, cursor.uleb()?);
                    let address = |index| self.tools.lists.address(self.unit, index);
                    let parts = self.parts(at, address(start), address(end))?;
                    self.location(&mut cursor, &parts, splice)?;
                }
                // startx_length
                3 => {
                    let start = cursor.uleb()?;
                    let start = self.tools.lists.address(self.unit, start);
                    self.length(at, &mut cursor, start, splice)?;
                }
                4 => self.offset_pair(at, &mut cursor, splice)?,
                // default_location
                5 => self.location(&mut cursor, &[], splice)?,
                // base_address
                6 => self.base = self.address(&mut cursor)?,
                // start_end
                7 => {
                    splice.mark(cursor.pos(), self.edge);
                    let start = self.address(&mut cursor)?;
                    splice.mark(cursor.pos(), Edge::End);
                    let end = self.address(&mut cursor)?;
                    let parts = self.parts(at, start, end)?;
                    self.location(&mut cursor, &parts, splice)?;
                }
                // start_length
                8 => {
                    splice.mark(cursor.pos(), self.edge);
                    let start = self.address(&mut cursor)?;
                    self.length(at, &mut cursor, start, splice)?;
                }
                // DW_LLE_GNU_view_pair
                9 if self.kind == Kind::Locations => drop((cursor.uleb()?, cursor.uleb()?)),
                _ => return Err(Malformed::at(at, format!("has an unknown kind of list entry {code:#04x}"))),
            }
            splice.copy_to(cursor.pos())?;
        }
    }

    fn rewrite_v4(&mut self, mut cursor: Cursor<'_>, splice: &mut Splice<'_>) -> Result<(), Malformed> {
        loop {
            let at = cursor.pos();
            let relocated = self.section.reloc_at(at).is_some() || self.section.reloc_at(at + 8).is_some();
            let start = self.address(&mut cursor)?;
            let end = self.address(&mut cursor)?;
            let mut raw = Cursor::new(self.section.data, at, cursor.pos())?;
            let words = (raw.uint(8)?, raw.uint(8)?);
            match words {
                (u64::MAX, _) => self.ends_or_sets_base(at),
                (0, 0) if !relocated => self.ends_or_sets_base(at),
                _ if relocated => self.ahead.push(at),
                _ => self.counts_from_base(at),
            }
            match words {
                (u64::MAX, _) => self.base = end,
                (0, 0) if !relocated => return splice.copy_to(cursor.pos()),
                _ if relocated => {
                    splice.mark(at, self.edge);
                    splice.mark(at + 8, Edge::End);
                    let parts = self.parts(at, start, end)?;
                    self.location(&mut cursor, &parts, splice)?;
                }
                (low, high) => {
                    let Some((base, parts)) = self.pair(at, low, high)? else {
                        return Err(Malformed::at(at, "has offsets that count from no code of this file"));
                    };
                    self.fixed_pair(at, &mut cursor, base, &parts, splice)?;
                }
            }
            splice.copy_to(cursor.pos())?;
        }
    }

    /// Another list may start at the entry at `at`, and at those before it that have waited for it.
    fn ends_or_sets_base(&mut self, at: usize) {
        self.tails.extend(self.ahead.drain(..));
        self.tails.insert(at);
    }

    /// The entry at `at` counts from the base: in a list that starts there, or at one that comes to it, that is
    /// the unit's.
    fn counts_from_base(&mut self, at: usize) {
        if self.base == self.unit.base {
            self.ahead.push(at);
        } else {
            self.ahead.clear();
        }
    }

    /// Two offsets from the base, as 8-byte words.
    fn fixed_pair(
        &mut self,
        at: usize,
        cursor: &mut Cursor<'_>,
        base: u64,
        parts: &[Part],
        splice: &mut Splice<'_>,
    ) -> Result<(), Malformed> {
        let words = |range: &Range<u64>| {
            [(range.start - base).to_le_bytes(), (range.end - base).to_le_bytes()].concat()
        };
        self.pieces(at, cursor, parts, words, splice)
    }

    fn offset_pair(
        &mut self,
        at: usize,
        cursor: &mut Cursor<'_>,
        splice: &mut Splice<'_>,
    ) -> Result<(), Malformed> {
        let (low, high) = (cursor.uleb()?, cursor.uleb()?);
        let Some((base, parts)) = self.pair(at, low, high)? else {
            return Err(Malformed::at(at, "has offsets that count from no code of this file"));
        };
        let pair = |range: &Range<u64>| {
            let mut bytes = vec![4];
            push_uleb(&mut bytes, range.start - base);
            push_uleb(&mut bytes, range.end - base);
            bytes
        };
        self.pieces(at, cursor, &parts, pair, splice)
    }

    /// Writes the entry at `at` once for each part that needs an expression of its own.
    fn pieces(
        &mut self,
        at: usize,
        cursor: &mut Cursor<'_>,
        parts: &[Part],
        range: impl Fn(&Range<u64>) -> Vec<u8>,
        splice: &mut Splice<'_>,
    ) -> Result<(), Malformed> {
        let whole = parts[0].range.start..parts[parts.len() - 1].range.end;
        let pair_end = cursor.pos();
        if self.kind == Kind::Ranges {
            return splice.replace_to(pair_end, &range(&whole));
        }
        let mut ahead = cursor.clone();
        let expression = self.read_expression(&mut ahead)?;
        let code = &self.section.data[expression.clone()];
        let split = parts.len() > 1
            && !self.section.has_reloc_in(expression.start, expression.end)
            && self.analyse(code, 0).is_ok_and(|analysis| !analysis.edits.is_empty());
        if !split {
            splice.replace_to(pair_end, &range(&whole))?;
            return self.location(cursor, parts, splice);
        }
        splice.copy_to(at)?;
        let mut bytes = Vec::new();
        for part in parts {
            let Ok(analysis) = self.analyse(code, part.bias) else { continue };
            self.fix(&analysis.refs);
            let code = expr::apply(code, &analysis.edits);
            bytes.extend(range(&part.range));
            bytes.extend(self.expression_length(at, code.len())?);
            bytes.extend(code);
        }
        *cursor = ahead;
        splice.replace_to(cursor.pos(), &bytes)
    }

    /// A start that is known and a length of code.
    fn length(
        &mut self,
        at: usize,
        cursor: &mut Cursor<'_>,
        start: Option<(usize, u64)>,
        splice: &mut Splice<'_>,
    ) -> Result<(), Malformed> {
        let field = cursor.pos();
        let len = cursor.uleb()?;
        let mut parts = Vec::new();
        if let Some(start) = start {
            parts = self.parts(at, Some(start), Some((start.0, start.1.wrapping_add(len))))?;
        }
        if let (Some(first), Some(last)) = (parts.first(), parts.last()) {
            let mut bytes = Vec::new();
            push_uleb(&mut bytes, last.range.end - first.range.start);
            splice.copy_to(field)?;
            splice.replace_to(cursor.pos(), &bytes)?;
        }
        self.location(cursor, &parts, splice)
    }

    /// The expression of a location entry, whose range is `parts`.
    fn location(
        &mut self,
        cursor: &mut Cursor<'_>,
        parts: &[Part],
        splice: &mut Splice<'_>,
    ) -> Result<(), Malformed> {
        if self.kind == Kind::Ranges {
            return Ok(());
        }
        let at = cursor.pos();
        let expression = self.read_expression(cursor)?;
        let code = &self.section.data[expression.clone()];
        let bias = parts.first().map_or(0, |part| part.bias);
        let analysis = match self.analyse(code, bias) {
            // Without a way to split the entry, its expression must hold in all of it.
            Ok(analysis) if analysis.edits.is_empty() || parts.len() <= 1 => analysis,
            _ => {
                self.tools.stats.lost_locations += 1;
                splice.copy_to(at)?;
                return splice.replace_to(cursor.pos(), &self.expression_length(at, 0)?);
            }
        };
        self.fix(&analysis.refs);
        if analysis.edits.is_empty() {
            return Ok(());
        }
        let len = expr::apply(code, &analysis.edits).len();
        splice.copy_to(at)?;
        splice.replace_to(expression.start, &self.expression_length(at, len)?)?;
        for edit in &analysis.edits {
            splice.copy_to(expression.start + edit.range.start)?;
            splice.replace_to(expression.start + edit.range.end, &edit.bytes)?;
        }
        Ok(())
    }

    fn analyse(&self, code: &[u8], bias: i64) -> Result<Analysis, String> {
        let mut analysis = expr::analyse(code, self.unit.encoding, Role::Location, bias)?;
        for EntryRef { entry, field } in &analysis.refs {
            let Some(range) = field else { continue };
            let new = self.unit.entry_offset(self.tools.entries, *entry) as u64;
            if new >> (8 * range.len()) != 0 {
                return Err("has an expression that refers to an entry too far away".into());
            }
            if new != *entry as u64 {
                let bytes = new.to_le_bytes()[..range.len()].to_vec();
                analysis.edits.push(Edit { range: range.clone(), bytes });
            }
        }
        analysis.refs.retain(|reference| reference.field.is_none());
        analysis.edits.sort_by_key(|edit| edit.range.start);
        Ok(analysis)
    }

    /// Notes references that cannot be changed in place.
    fn fix(&mut self, refs: &[EntryRef]) {
        refs.iter().for_each(|reference| self.tools.fixed.push(self.unit, reference.entry));
    }

    fn read_expression(&self, cursor: &mut Cursor<'_>) -> Result<Range<usize>, Malformed> {
        let len = if self.unit.encoding.version >= 5 { cursor.uleb()? } else { u64::from(cursor.u16()?) };
        let start = cursor.pos();
        cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        Ok(start..cursor.pos())
    }

    fn expression_length(&self, at: usize, len: usize) -> Result<Vec<u8>, Malformed> {
        if self.unit.encoding.version >= 5 {
            let mut bytes = Vec::new();
            push_uleb(&mut bytes, len as u64);
            return Ok(bytes);
        }
        let len = u16::try_from(len)
            .map_err(|_| Malformed::at(at, "has an expression that does not fit any more"))?;
        Ok(len.to_le_bytes().to_vec())
    }

    /// The place that the 8-byte field at the cursor names, if it is relocated.
    fn address(&self, cursor: &mut Cursor<'_>) -> Result<Option<(usize, u64)>, Malformed> {
        let at = cursor.pos();
        cursor.take(8)?;
        Ok(self.section.reloc_at(at).and_then(|reloc| self.tools.context.target(reloc)))
    }

    /// The new base, and what `[low, high)`, counted from the old base, became; `None` without a base in
    /// rewritten code.
    fn pair(&self, at: usize, low: u64, high: u64) -> Result<Option<(u64, Vec<Part>)>, Malformed> {
        let Some((section, base)) = self.base else { return Ok(None) };
        let Some(new_base) = self.tools.context.locate(at, (section, base), Edge::Entry)? else {
            return Ok(None);
        };
        let place = |offset: u64| Some((section, base.wrapping_add(offset)));
        let parts = self.parts(at, place(low), place(high))?;
        if parts.first().is_none_or(|part| part.range.start < new_base) {
            return Ok(None);
        }
        Ok(Some((new_base, parts)))
    }

    /// What the code from `start` to `end` became, cut wherever the bias of rsp changes; empty if it is not
    /// rewritten code.
    fn parts(
        &self,
        at: usize,
        start: Option<(usize, u64)>,
        end: Option<(usize, u64)>,
    ) -> Result<Vec<Part>, Malformed> {
        let (Some(start), Some(end)) = (start, end) else { return Ok(Vec::new()) };
        let len = end.1.wrapping_sub(start.1);
        let Some((new_start, new_end)) = self.tools.context.range(at, start, len, self.edge)? else {
            return Ok(Vec::new());
        };
        let map = self.tools.context.code(start.0).expect("a range that has a counterpart is code");
        let mut parts = vec![Part { range: new_start..new_end, bias: map.bias_at(new_start).into() }];
        let biases = map.biases();
        let first = biases.partition_point(|&(from, _)| u64::from(from) <= new_start);
        for &(from, bias) in biases[first..].iter().take_while(|&&(from, _)| u64::from(from) < new_end) {
            let last = parts.last_mut().expect("never empty");
            last.range.end = from.into();
            parts.push(Part { range: from.into()..new_end, bias: bias.into() });
        }
        Ok(parts)
    }
}
