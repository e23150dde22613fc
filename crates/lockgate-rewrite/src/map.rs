//! Where the rewritten code of each section lies: the old offset of every instruction against its new one,
//! and how far rsp has run ahead of, or behind, the original's.

use crate::elf::{Object, sym};

/// Marks an old offset that is no instruction boundary.
const NONE: u32 = u32::MAX;

/// Address map of one rewritten section. Offsets are relative to the section's start, bytes.
#[derive(Debug, Clone, Default)]
pub struct SectionMap {
    /// By old offset: new offset of the code of the instruction that starts there. The entry at the old
    /// size of the section is its new size.
    starts: Vec<u32>,
    /// By old offset: new offset one past the code of the instruction that *ends* there, before any
    /// alignment padding.
    ends: Vec<u32>,
    /// Ordered by old offset: instructions with an entry label, `(old offset, new offset after the label)`.
    bodies: Vec<(u32, u32)>,
    /// Ordered by offset: `(new offset, bias)`; a bias holds up to the next event.
    biases: Vec<(u32, i32)>,
    /// Ordered by new and by old offset.
    outliers: Vec<Outlier>,
}

impl SectionMap {
    /// An empty map of a section of `old_size` bytes.
    pub(crate) fn new(old_size: usize) -> Self {
        SectionMap {
            starts: vec![NONE; old_size + 1],
            ends: vec![NONE; old_size + 1],
            bodies: Vec::new(),
            biases: Vec::new(),
            outliers: Vec::new(),
        }
    }

    /// Records that the instruction at `[old_start, old_end)` became `[new_start, new_end)`.
    pub(crate) fn insert(&mut self, old_start: u32, old_end: u32, new_start: u32, new_end: u32) {
        self.starts[old_start as usize] = new_start;
        self.ends[old_end as usize] = new_end;
    }

    /// Records that the instruction at `old` got an entry label, which ends at `new`. Called in ascending order.
    pub(crate) fn push_body(&mut self, old: u32, new: u32) {
        self.bodies.push((old, new));
    }

    /// Records code of an instruction that lies elsewhere. Called in ascending order.
    pub(crate) fn push_outlier(&mut self, outlier: Outlier) {
        self.outliers.push(outlier);
    }

    /// Closes the map: what pointed to the section's end points to `new_end`; `new_size` is the size of the new section.
    pub(crate) fn finish(&mut self, new_end: u32, new_size: u32) {
        if let Some(last) = self.starts.last_mut() {
            *last = new_end;
        }
        if let Some(last) = self.ends.last_mut().filter(|end| **end == NONE) {
            *last = new_size;
        }
        self.ends[0] = 0;
    }

    /// Records that from new offset `new` on, rsp = original rsp + `bias`. Called in ascending order.
    pub(crate) fn push_bias(&mut self, new: u32, bias: i32) {
        let last = self.biases.last().map_or(0, |event| event.1);
        if bias == last {
            return;
        }
        match self.biases.last_mut() {
            Some(event) if event.0 == new => event.1 = bias,
            _ => self.biases.push((new, bias)),
        }
    }

    /// New offset of the instruction (or the section's end) at `old`; `None` if `old` is inside one.
    /// Use it for places that control reaches: functions, targets, line rows, starts of ranges.
    pub fn start(&self, old: u64) -> Option<u64> {
        lookup(&self.starts, old)
    }

    /// As [`start`](Self::start), but after the entry label if there is one: where direct branches go, so that
    /// every way to the instruction passes there.
    pub fn body(&self, old: u64) -> Option<u64> {
        let labelled = self.bodies.binary_search_by_key(&old, |&(old, _)| old.into());
        labelled.map_or_else(|_| self.start(old), |index| Some(self.bodies[index].1.into()))
    }

    /// New offset one past the code of the instruction that ends at `old`; `None` if none ends there.
    /// Use it for return addresses and ends of ranges.
    pub fn end(&self, old: u64) -> Option<u64> {
        lookup(&self.ends, old).or_else(|| self.start(old))
    }

    /// Changes of the bias, ordered by new offset: `(new offset, bias)`. From that offset up to the next
    /// event, rsp (with the distance of the stacks taken off) = the original's rsp + bias, where the original's rsp is
    /// that *before* the original instruction whose code the offset lies in. Before the first event it is 0.
    pub fn biases(&self) -> &[(u32, i32)] {
        &self.biases
    }

    /// Code that lies behind that of another instruction, ordered by new and by old offset; rsp is the original's there.
    pub fn outliers(&self) -> &[Outlier] {
        &self.outliers
    }

    /// The bias in force at new offset `new`.
    pub fn bias_at(&self, new: u64) -> i32 {
        let after = self.biases.partition_point(|event| u64::from(event.0) <= new);
        after.checked_sub(1).map_or(0, |last| self.biases[last].1)
    }
}

/// Code of an instruction that lies apart from the rest of it: the trap of a check, at the next place that control does not
/// reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlier {
    /// New offset of its first byte.
    pub start: u32,
    /// New offset one past its last byte.
    pub end: u32,
    /// Old offset of the instruction that it belongs to.
    pub owner: u32,
}

fn lookup(table: &[u32], old: u64) -> Option<u64> {
    let new = *table.get(usize::try_from(old).ok()?)?;
    (new != NONE).then_some(u64::from(new))
}

/// Address maps of an object's rewritten sections.
#[derive(Debug, Clone, Default)]
pub struct AddressMap {
    /// By section index; `None` for sections that hold no code.
    sections: Vec<Option<SectionMap>>,
}

impl AddressMap {
    /// A map of an object of `sections` sections, none of them rewritten yet.
    pub(crate) fn new(sections: usize) -> Self {
        AddressMap { sections: vec![None; sections] }
    }

    /// Sets the map of section `index`.
    pub(crate) fn set(&mut self, index: usize, map: SectionMap) {
        self.sections[index] = Some(map);
    }

    /// The map of section `index` if it was rewritten.
    pub fn section(&self, index: usize) -> Option<&SectionMap> {
        self.sections.get(index)?.as_ref()
    }

    /// New offset of the code at `old` in section `section`; as it is in sections without code.
    pub(crate) fn moved(&self, section: usize, old: i64) -> Option<i64> {
        match self.section(section) {
            Some(map) => map.start(u64::try_from(old).ok()?).map(|new| new as i64),
            None => Some(old),
        }
    }

    /// New offset of what symbol `number` names in its section.
    pub(crate) fn origin(&self, object: &Object, number: u32) -> Option<i64> {
        let symbol = &object.symbols[number as usize];
        match symbol.kind {
            sym::SECTION => Some(0),
            _ => self.moved(symbol.section()?, symbol.value as i64),
        }
    }
}
