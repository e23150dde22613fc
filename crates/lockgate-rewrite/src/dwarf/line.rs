//! `.debug_line` (DWARF 2 to 5): line programs with their address advances re-emitted. Every row stays, with
//! its file, line and flags; only its address moves. Where an instruction got an entry label, its row is after
//! the label, so that a breakpoint there stops direct branches, too; the label gets a row of the same line that
//! is no statement. So do the traps of checks, which lie apart: a report names the line of the check.

use std::collections::VecDeque;

use super::bytes::Cursor;
use super::splice::{Splice, Spliced};
use super::{Context, Edge, Malformed, Section, Stats};
use crate::leb128::{push_sleb, push_uleb};
use crate::map::SectionMap;

/// Numbers of the standard opcodes (DWARF 5 §6.2.5.2) and of the extended ones (§6.2.5.3).
const COPY: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const SET_FILE: u8 = 4;
const SET_COLUMN: u8 = 5;
const NEGATE_STMT: u8 = 6;
const SET_BASIC_BLOCK: u8 = 7;
const CONST_ADD_PC: u8 = 8;
const FIXED_ADVANCE_PC: u8 = 9;
const SET_PROLOGUE_END: u8 = 10;
const SET_EPILOGUE_BEGIN: u8 = 11;
const END_SEQUENCE: u8 = 1;
const SET_ADDRESS: u8 = 2;
const SET_DISCRIMINATOR: u8 = 4;

/// Re-emits a section of line programs.
pub(super) fn rewrite(
    section: &Section<'_>,
    context: &Context<'_>,
    stats: &mut Stats,
) -> Result<Spliced, Malformed> {
    let mut splice = Splice::new(section);
    while splice.pos() < section.data.len() {
        let length_at = splice.new_pos();
        let (header, mut program) = read_header(section, splice.pos())?;
        splice.copy_to(program.pos())?;
        let is_stmt = header.default_is_stmt;
        let mut machine = Machine {
            header,
            section,
            context,
            place: None,
            new: 0,
            last_row: None,
            traps: Traps::default(),
            source: Source::START,
            is_stmt,
            flags: Vec::new(),
            rows: 0,
        };
        while !program.at_end() {
            machine.step(&mut program, &mut splice)?;
        }
        stats.line_rows += machine.rows;
        splice.patch_length(length_at);
    }
    splice.finish()
}

/// What decoding a program needs of its header.
struct Header {
    default_is_stmt: bool,
    line_base: i8,
    line_range: u8,
    opcode_base: u8,
    /// Number of operands of each standard opcode, from opcode 1 on.
    operands: Vec<u8>,
}

/// The header at `start`, and the cursor over its program.
fn read_header<'a>(section: &Section<'a>, start: usize) -> Result<(Header, Cursor<'a>), Malformed> {
    let refused = |reason: &'static str| Malformed::at(start, reason);
    let mut cursor = Cursor::new(section.data, start, section.data.len())?;
    let end = cursor.unit_end()?;
    let version = cursor.u16()?;
    if !(2..=5).contains(&version) {
        return Err(refused("has an unknown version of line programs"));
    }
    if version >= 5 && (cursor.u8()?, cursor.u8()?) != (8, 0) {
        return Err(refused("has addresses that are not 8 bytes"));
    }
    let header_len = cursor.u32()? as usize;
    let program = cursor.pos().saturating_add(header_len);
    let min_instruction = cursor.u8()?;
    let max_operations = if version >= 4 { cursor.u8()? } else { 1 };
    if (min_instruction, max_operations) != (1, 1) {
        return Err(refused("counts addresses in units other than bytes"));
    }
    let default_is_stmt = cursor.u8()? != 0;
    let line_base = cursor.u8()? as i8;
    let line_range = cursor.u8()?;
    let opcode_base = cursor.u8()?;
    if line_range == 0 || opcode_base < 10 {
        return Err(refused("has no room for special opcodes"));
    }
    let operands = cursor.take(usize::from(opcode_base) - 1)?.to_vec();
    Ok((
        Header { default_is_stmt, line_base, line_range, opcode_base, operands },
        Cursor::new(section.data, program, end)?,
    ))
}

/// The registers of a line program that name a place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Source {
    file: u64,
    line: u64,
    column: u64,
}

impl Source {
    /// At the start of every sequence.
    const START: Source = Source { file: 1, line: 1, column: 0 };

    /// Appends the instructions that set the registers to `self`, which are `from`.
    fn set(self, from: Source, code: &mut Vec<u8>) {
        for (opcode, new, old) in [(SET_FILE, self.file, from.file), (SET_COLUMN, self.column, from.column)] {
            if new != old {
                code.push(opcode);
                push_uleb(code, new);
            }
        }
        if self.line != from.line {
            code.push(ADVANCE_LINE);
            push_sleb(code, self.line.wrapping_sub(from.line) as i64);
        }
    }
}

/// The outliers of the section that still have to get their rows.
#[derive(Default)]
struct Traps {
    /// Number of the first outlier whose instruction has no row yet.
    next: usize,
    /// Outliers whose instructions have rows: start, end, source.
    known: VecDeque<(u64, u64, Source)>,
}

/// The address register of the old program, and that of the new one.
struct Machine<'a> {
    header: Header,
    section: &'a Section<'a>,
    context: &'a Context<'a>,
    /// Section and old offset of the address register; `None` where it is not in rewritten code.
    place: Option<(usize, u64)>,
    /// New offset that the new program's address register holds.
    new: u64,
    /// Old offset and source of the last row of the sequence.
    last_row: Option<(u64, Source)>,
    traps: Traps,
    /// The registers that name the source.
    source: Source,
    is_stmt: bool,
    /// The instructions since the last row whose effect ends with the next.
    flags: Vec<u8>,
    rows: usize,
}

impl Machine<'_> {
    fn step(&mut self, program: &mut Cursor<'_>, splice: &mut Splice<'_>) -> Result<(), Malformed> {
        let at = program.pos();
        let opcode = program.u8()?;
        if opcode >= self.header.opcode_base {
            let adjusted = opcode - self.header.opcode_base;
            self.advance(u64::from(adjusted / self.header.line_range));
            let line = i64::from(self.header.line_base) + i64::from(adjusted % self.header.line_range);
            self.source.line = self.source.line.wrapping_add_signed(line);
            return self.row(at, program.pos(), Some(adjusted % self.header.line_range), splice);
        }
        match opcode {
            0 => return self.extended(at, program, splice),
            COPY => return self.row(at, program.pos(), None, splice),
            ADVANCE_PC => {
                let delta = program.uleb()?;
                self.advance(delta);
            }
            CONST_ADD_PC => {
                let adjusted = u8::MAX - self.header.opcode_base;
                self.advance(u64::from(adjusted / self.header.line_range));
            }
            FIXED_ADVANCE_PC => {
                let delta = program.u16()?;
                self.advance(u64::from(delta));
            }
            ADVANCE_LINE => {
                let line = program.sleb()?;
                self.source.line = self.source.line.wrapping_add_signed(line);
                return splice.copy_to(program.pos());
            }
            SET_FILE => {
                self.source.file = program.uleb()?;
                return splice.copy_to(program.pos());
            }
            SET_COLUMN => {
                self.source.column = program.uleb()?;
                return splice.copy_to(program.pos());
            }
            _ => {
                for _ in 0..self.header.operands[usize::from(opcode) - 1] {
                    program.uleb()?;
                }
                match opcode {
                    NEGATE_STMT => self.is_stmt = !self.is_stmt,
                    SET_BASIC_BLOCK | SET_PROLOGUE_END | SET_EPILOGUE_BEGIN => self.flags.push(opcode),
                    _ => {}
                }
                return splice.copy_to(program.pos());
            }
        }
        if self.place.is_none() {
            return splice.copy_to(program.pos());
        }
        splice.replace_to(program.pos(), &[])
    }

    fn extended(
        &mut self,
        at: usize,
        program: &mut Cursor<'_>,
        splice: &mut Splice<'_>,
    ) -> Result<(), Malformed> {
        let new = self.new;
        let len = program.uleb()?;
        let body = program.pos();
        let code = program.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        match code.first() {
            Some(&END_SEQUENCE) => {
                if let Some((section, old)) = self.place {
                    // An empty last line may end before the label of what follows it.
                    let end = self.translate(at, section, old, Edge::End)?.max(self.new);
                    let mut code = Vec::new();
                    self.traps_before(section, old, end, &mut code);
                    code.extend(advance(end - self.new));
                    splice.replace_to(at, &code)?;
                }
                self.place = None;
                self.last_row = None;
                self.source = Source::START;
                self.is_stmt = self.header.default_is_stmt;
                self.flags.clear();
                self.rows += 1;
            }
            Some(&SET_ADDRESS) => {
                let before = self.place;
                self.set_address(at, body + 1)?;
                if let (Some((section, old)), Some((here, there))) = (before, self.place)
                    && section == here
                    && old <= there
                {
                    // In the middle of a sequence it is an advance like others: set anew, it would go back to
                    // the label that the last row is behind of.
                    self.new = new;
                    return splice.replace_to(program.pos(), &[]);
                }
            }
            Some(&SET_DISCRIMINATOR) => {
                self.flags.push(0);
                push_uleb(&mut self.flags, len);
                self.flags.extend_from_slice(code);
            }
            _ => {}
        }
        splice.copy_to(program.pos())
    }

    fn set_address(&mut self, at: usize, field: usize) -> Result<(), Malformed> {
        let target = self.section.reloc_at(field).and_then(|reloc| self.context.target(reloc));
        self.place = target.filter(|&(section, _)| self.context.code(section).is_some());
        if let Some((section, old)) = self.place {
            self.new = self.translate(at, section, old, Edge::Entry)?;
            let outliers = self.context.code(section).map_or(&[][..], SectionMap::outliers);
            let next = outliers.partition_point(|outlier| u64::from(outlier.owner) < old);
            self.traps = Traps { next, known: VecDeque::new() };
        }
        Ok(())
    }

    fn advance(&mut self, delta: u64) {
        if let Some((_, old)) = &mut self.place {
            *old = old.wrapping_add(delta);
        }
    }

    fn translate(&self, at: usize, section: usize, old: u64, edge: Edge) -> Result<u64, Malformed> {
        let map = self.context.code(section).expect("the place is in rewritten code");
        let new = match edge {
            Edge::Entry => map.start(old),
            Edge::Body => map.body(old),
            Edge::End => map.end(old),
        };
        new.ok_or_else(|| {
            Malformed::at(at, format!("has a row inside the instruction at {old:#x} of its code"))
        })
    }

    /// The row that the instruction between `at` and `end` appends: a special opcode with line part `line` (the
    /// line advance minus `line_base`), or DW_LNS_copy.
    fn row(
        &mut self,
        at: usize,
        end: usize,
        line: Option<u8>,
        splice: &mut Splice<'_>,
    ) -> Result<(), Malformed> {
        self.rows += 1;
        let flags = std::mem::take(&mut self.flags);
        let Some((section, old)) = self.place else { return splice.copy_to(end) };
        let entry = self.translate(at, section, old, Edge::Entry)?;
        let body = self.translate(at, section, old, Edge::Body)?;
        let mut code = Vec::new();
        // The registers hold this row's source; with a special opcode, what they held before it.
        let source = self.source;
        let step = line.map_or(0, |line| i64::from(self.header.line_base) + i64::from(line));
        self.source.line = source.line.wrapping_add_signed(-step);
        if self.traps_before(section, old, entry, &mut code) {
            code.extend_from_slice(&flags);
        }
        self.source = source;
        let is_first = self.last_row.replace((old, source)).map(|row| row.0) != Some(old);
        let delta = |from: u64, to: u64| {
            to.checked_sub(from)
                .ok_or_else(|| Malformed::at(at, "has a line program whose addresses go down"))
        };
        let mut line = line;
        if entry != body && is_first {
            code.extend(advance(delta(self.new, entry)?));
            if let Some(line) = line.take() {
                code.push(ADVANCE_LINE);
                push_sleb(&mut code, i64::from(self.header.line_base) + i64::from(line));
            }
            let negate: &[u8] = if self.is_stmt { &[NEGATE_STMT] } else { &[] };
            code.extend_from_slice(negate);
            code.push(COPY);
            code.extend_from_slice(negate);
            code.extend_from_slice(&flags);
            self.new = entry;
        }
        let delta = delta(self.new, body)?;
        self.new = body;
        match line {
            Some(line) => self.special(line, delta, &mut code),
            None => {
                code.extend(advance(delta));
                code.push(COPY);
            }
        }
        splice.replace_to(end, &code)
    }

    /// Appends the rows of the traps before new offset `end`, where the row of old offset `old` comes, and of what follows
    /// them; says whether there are any.
    fn traps_before(&mut self, section: usize, old: u64, end: u64, code: &mut Vec<u8>) -> bool {
        let outliers = self.context.code(section).map_or(&[][..], SectionMap::outliers);
        let Some((_, covering)) = self.last_row else { return false };
        while let Some(outlier) = outliers.get(self.traps.next).filter(|next| u64::from(next.owner) < old) {
            self.traps.known.push_back((outlier.start.into(), outlier.end.into(), covering));
            self.traps.next += 1;
        }
        let mut now = self.source;
        let mut row = |at: u64, source: Source| {
            code.extend(advance(at - self.new));
            source.set(now, code);
            (self.new, now) = (at, source);
            let negate: &[u8] = if self.is_stmt { &[NEGATE_STMT] } else { &[] };
            code.extend_from_slice(negate);
            code.push(COPY);
            code.extend_from_slice(negate);
        };
        let mut last = None;
        while let Some(&(start, after, source)) = self.traps.known.front().filter(|trap| trap.0 < end) {
            if let Some(last) = last.filter(|&last| last < start) {
                row(last, covering);
            }
            row(start, source);
            last = Some(after);
            self.traps.known.pop_front();
        }
        if let Some(last) = last.filter(|&last| last < end) {
            row(last, covering);
        }
        self.source.set(now, code);
        last.is_some()
    }

    /// Appends the row of a special opcode whose line part is `line` (the line advance minus `line_base`).
    fn special(&self, line: u8, delta: u64, code: &mut Vec<u8>) {
        let Header { line_range, opcode_base, .. } = self.header;
        let opcode = |delta: u64| {
            let opcode = delta.checked_mul(line_range.into())? + u64::from(line) + u64::from(opcode_base);
            u8::try_from(opcode).ok()
        };
        match opcode(delta) {
            Some(opcode) => code.push(opcode),
            None => {
                code.extend(advance(delta));
                code.push(opcode_base + line);
            }
        }
    }
}

/// The instruction that advances the address by `delta` bytes, nothing for none.
fn advance(delta: u64) -> Vec<u8> {
    let mut code = Vec::new();
    if delta != 0 {
        code.push(ADVANCE_PC);
        push_uleb(&mut code, delta);
    }
    code
}
