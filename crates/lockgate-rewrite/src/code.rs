//! The code of an object: decoded instructions by section and place, their marks, and the tables of switches.

use std::collections::{BTreeMap, HashSet};

use crate::decode::{Text, data_in_text};
use crate::elf::{Object, Reloc, reloc};
use crate::error::Reason;

/// What a place seems to be of which it cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seems {
    Function,
    Label,
    /// A label in a part of a function that lies away from the rest, to which the rest may jump: with rsp so far below where it was at the
    /// function's entry, if unwind tables tell.
    LabelOfPart(Option<i32>),
}

/// The code sections of an object.
pub(crate) struct Code {
    /// In the order of the sections.
    pub(crate) texts: Vec<Text>,
    /// By section index: index in `texts` of code sections.
    pub(crate) by_section: Vec<Option<usize>>,
    /// By section: the places in data whose address code takes.
    pub(crate) bases: BTreeMap<usize, Bases>,
    /// Switch tables by section and offset of their first entry.
    pub(crate) tables: BTreeMap<(usize, u64), Table>,
    /// Places whose address is taken, and which are functions or labels inside ones; whether they look like
    /// functions ([`crate::starts`]).
    pub(crate) unsure: Vec<(CodePlace, Seems)>,
}

/// A table of 32-bit distances from the table to code, or of addresses of labels.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) form: Form,
    /// Target of each entry.
    pub(crate) targets: Vec<CodePlace>,
    /// Instructions that take the table's address.
    pub(crate) owners: Vec<CodePlace>,
    /// Whether the table lies in memory that the module cannot write.
    pub(crate) read_only: bool,
}

/// What a table's entries are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// 32-bit distances from the table.
    Distances,
    /// 64-bit addresses of labels, which are read as data, too.
    Addresses,
}

impl Table {
    /// Whether all that belongs to the switch is in one code section.
    pub(crate) fn is_in_one_text(&self) -> bool {
        let mut texts = self.targets.iter().chain(&self.owners).map(|place| place.0);
        let first = texts.next();
        texts.all(|text| Some(text) == first)
    }
}

/// By offset in a section of data: the instructions that take its address.
pub(crate) type Bases = BTreeMap<u64, Vec<CodePlace>>;

/// A place in the code: index in [`Code::texts`] and of the instruction.
pub(crate) type CodePlace = (usize, usize);

/// Whether a relocation of this type counts from the place of its field.
pub(crate) fn is_relative(kind: u32) -> bool {
    use reloc::*;
    matches!(
        kind,
        PC32 | PLT32
            | GOTPCREL
            | PC16
            | PC8
            | TLSGD
            | TLSLD
            | GOTTPOFF
            | PC64
            | GOTPC32
            | GOTPC32_TLSDESC
            | GOTPCRELX
            | REX_GOTPCRELX
    )
}

/// Section and offset of a table.
pub(crate) type Key = (usize, u64);

/// A table that a jump goes through, and an instruction that takes its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Through {
    pub(crate) table: Key,
    pub(crate) from: CodePlace,
}

/// Compilers make no table for a switch with fewer cases.
const MIN_TABLE: usize = 4;

impl Code {
    /// The instruction at `offset` of section `section`; `Ok(None)` if that is no code section, `Err` if the
    /// offset is inside an instruction. The section's end counts as an instruction.
    pub(crate) fn place(&self, section: usize, offset: i64) -> Result<Option<CodePlace>, Reason> {
        let Some(number) = self.by_section.get(section).copied().flatten() else { return Ok(None) };
        match self.texts[number].at(offset) {
            Some(index) => Ok(Some((number, index))),
            None => Err(data_in_text("a reference points into the middle of an instruction")),
        }
    }

    /// Adds marks to an instruction; the end of a section has none.
    pub(crate) fn mark(&mut self, (number, index): CodePlace, marks: u16) {
        if let Some(ins) = self.texts[number].code.get_mut(index) {
            ins.marks |= marks;
        }
    }

    /// Takes marks away from an instruction.
    pub(crate) fn unmark(&mut self, (number, index): CodePlace, marks: u16) {
        self.texts[number].code[index].marks &= !marks;
    }

    pub(crate) fn has(&self, (number, index): CodePlace, marks: u16) -> bool {
        self.texts[number].code.get(index).is_some_and(|ins| ins.has(marks))
    }

    /// The texts that a switch has a case at the end of.
    pub(crate) fn texts_that_end_in_cases(&self) -> HashSet<usize> {
        let cases = self.tables.values().flat_map(|table| &table.targets);
        cases.filter(|place| place.1 == self.texts[place.0].code.len()).map(|place| place.0).collect()
    }

    /// Where the direct branch `index` of text `number` goes if that is code of this object.
    pub(crate) fn branch_place(&self, object: &Object, number: usize, index: usize) -> Option<CodePlace> {
        let text = &self.texts[number];
        if let Some(target) = text.local_target(index) {
            return Some((number, target));
        }
        let ins = &text.code[index];
        let reloc = text.relocs(object, index).iter().find(|reloc| is_relative(reloc.kind))?;
        let (section, offset) =
            object.resolve(reloc.symbol, reloc.addend + (ins.code.next_ip() - reloc.offset) as i64)?;
        self.place(section, offset).ok()?
    }

    /// Base of the table that relocation `number` of `relocs`, the relocations of data section `section`, is an entry of: the last
    /// address taken at or before it with 32-bit relative entries all the way between.
    ///
    /// An address that few entries follow may be no base but that of the constants behind a table, minus an offset: then the
    /// entries fit the base before it.
    pub(crate) fn table_base(
        &self,
        object: &Object,
        section: usize,
        relocs: &[Reloc],
        number: usize,
    ) -> Option<u64> {
        let entry = &relocs[number];
        if entry.kind != reloc::PC32 {
            return None;
        }
        let run = |base: u64, first: usize| {
            let follows = move |(i, reloc): &(usize, &Reloc)| {
                reloc.kind == reloc::PC32 && reloc.offset == base + 4 * *i as u64
            };
            relocs[first..].iter().enumerate().take(MIN_TABLE).take_while(follows).map(|(_, reloc)| reloc)
        };
        let fits = |base: u64, reloc: &Reloc| {
            let target = object.resolve(reloc.symbol, reloc.addend - (reloc.offset - base) as i64);
            target.is_some_and(|(text, offset)| matches!(self.place(text, offset), Ok(Some(_))))
        };
        let mut short = None;
        for (&base, _) in self.bases.get(&section)?.range(..=entry.offset).rev() {
            let back = usize::try_from((entry.offset - base) / 4).ok()?;
            let Some(first) = number.checked_sub(back) else { break };
            let unbroken = relocs[first].offset == base && relocs[first].kind == reloc::PC32;
            if !unbroken || !(entry.offset - base).is_multiple_of(4) {
                break;
            }
            match short {
                None if run(base, first).count() == MIN_TABLE => return Some(base),
                None => short = Some((base, first)),
                Some((near, first)) => {
                    return Some(if run(near, first).all(|reloc| fits(base, reloc)) { base } else { near });
                }
            }
        }
        short.map(|(base, _)| base)
    }
}
