//! A section re-emitted piece by piece: what is copied keeps its relocations, what is replaced may change
//! its size, and every old offset stays translatable, so that references into the section can follow.

use std::collections::BTreeMap;

use super::{Edge, Malformed, Section};
use crate::elf::Reloc;

/// Where the bytes of a re-emitted section went: old section offset to new section offset.
#[derive(Clone, Debug, Default)]
pub(super) struct Moved {
    /// Starts of runs that moved as one, ascending in both components.
    runs: Vec<(u64, u64)>,
}

impl Moved {
    /// The new offset of what was at `old`. Inside a replaced piece only its start is meaningful.
    pub(super) fn offset(&self, old: u64) -> u64 {
        let after = self.runs.partition_point(|&(start, _)| start <= old);
        match after.checked_sub(1) {
            // What damaged addends name may lie far beyond the section: it stays as far beyond.
            Some(run) => self.runs[run].1.wrapping_add(old - self.runs[run].0),
            None => old,
        }
    }

    fn push(&mut self, old: u64, new: u64) {
        if let Some(&(start, moved)) = self.runs.last() {
            if start == old {
                // A piece of no bytes came before: what follows it is what `old` refers to.
                self.runs.pop();
            } else if new.wrapping_sub(moved) == old - start {
                return;
            }
        }
        self.runs.push((old, new));
    }
}

/// The writer of a re-emitted section.
pub(super) struct Splice<'a> {
    old: &'a Section<'a>,
    pos: usize,
    next_reloc: usize,
    out: Vec<u8>,
    relocs: Vec<Carried>,
    moved: Moved,
    /// Old offsets of addresses that stand for more than [`Edge::Entry`].
    edges: BTreeMap<u64, Edge>,
}

impl<'a> Splice<'a> {
    /// Starts at offset 0 of `old`, whose relocations ascend by offset.
    pub(super) fn new(old: &'a Section<'a>) -> Self {
        let out = Vec::with_capacity(old.data.len() + old.data.len() / 8);
        Self {
            old,
            pos: 0,
            next_reloc: 0,
            out,
            relocs: Vec::new(),
            moved: Moved::default(),
            edges: BTreeMap::new(),
        }
    }

    /// Says what the relocated address at old offset `at`, not copied yet, stands for.
    pub(super) fn mark(&mut self, at: usize, edge: Edge) {
        self.edges.insert(at as u64, edge);
    }

    /// Offset in the old section of the next byte to copy or replace.
    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    /// Offset in the new section of the next byte written.
    pub(super) fn new_pos(&self) -> usize {
        self.out.len()
    }

    /// Copies everything up to old offset `end`, with its relocations.
    pub(super) fn copy_to(&mut self, end: usize) -> Result<(), Malformed> {
        let Some(piece) = self.old.data.get(self.pos..end) else {
            return Err(Malformed::at(self.pos, "is referred to twice, or out of order"));
        };
        self.moved.push(self.pos as u64, self.out.len() as u64);
        while let Some(reloc) = self.old.relocs.get(self.next_reloc).filter(|r| r.offset < end as u64) {
            if reloc.offset >= self.pos as u64 {
                let offset = reloc.offset - self.pos as u64 + self.out.len() as u64;
                let edge = self.edges.remove(&reloc.offset).unwrap_or(Edge::Entry);
                self.relocs.push(Carried { reloc: Reloc { offset, ..*reloc }, edge });
            }
            self.next_reloc += 1;
        }
        self.out.extend_from_slice(piece);
        self.pos = end;
        Ok(())
    }

    /// Writes `bytes` in place of everything up to old offset `end`; relocations there go.
    pub(super) fn replace_to(&mut self, end: usize, bytes: &[u8]) -> Result<(), Malformed> {
        if end < self.pos || end > self.old.data.len() {
            return Err(Malformed::at(self.pos, "is referred to twice, or out of order"));
        }
        self.moved.push(self.pos as u64, self.out.len() as u64);
        self.out.extend_from_slice(bytes);
        self.pos = end;
        while self.old.relocs.get(self.next_reloc).is_some_and(|r| r.offset < end as u64) {
            self.next_reloc += 1;
        }
        Ok(())
    }

    /// Writes bytes that had no counterpart.
    pub(super) fn insert(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Overwrites bytes already written.
    pub(super) fn patch(&mut self, new_offset: usize, bytes: &[u8]) {
        self.out[new_offset..new_offset + bytes.len()].copy_from_slice(bytes);
    }

    /// Sets the 32-bit length field at `new_offset` to count everything written after it.
    pub(super) fn patch_length(&mut self, new_offset: usize) {
        let len = (self.out.len() - new_offset - 4) as u32;
        self.patch(new_offset, &len.to_le_bytes());
    }

    /// Where what was written so far went.
    pub(super) fn moved(&self) -> &Moved {
        &self.moved
    }

    /// Copies the rest and ends.
    pub(super) fn finish(mut self) -> Result<Spliced, Malformed> {
        self.copy_to(self.old.data.len())?;
        Ok(Spliced { data: self.out, relocs: self.relocs, moved: self.moved })
    }
}

/// A relocation of a re-emitted section: at its new offset, to its old target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    pub(super) reloc: Reloc,
    /// What it stands for if its target is code.
    pub(super) edge: Edge,
}

/// A section as [`Splice`] wrote it.
#[derive(Debug)]
pub(super) struct Spliced {
    pub(super) data: Vec<u8>,
    pub(super) relocs: Vec<Carried>,
    pub(super) moved: Moved,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reloc(offset: u64) -> Reloc {
        Reloc { offset, kind: 1, symbol: 0, addend: 0 }
    }

    #[test]
    fn offsets_and_relocations_follow_what_moved() {
        let data = *b"abcdefgh";
        let relocs = [reloc(0), reloc(3), reloc(6)];
        let old = Section { index: 1, name: "x", data: &data, relocs: &relocs };
        let mut splice = Splice::new(&old);
        splice.copy_to(2).unwrap();
        splice.replace_to(4, b"WXYZ").unwrap();
        splice.copy_to(5).unwrap();
        splice.insert(b"-");
        let new = splice.finish().unwrap();
        assert_eq!(new.data, b"abWXYZe-fgh");
        assert_eq!(new.relocs.iter().map(|r| r.reloc.offset).collect::<Vec<_>>(), [0, 9]);
        assert_eq!([0, 2, 4, 5, 8].map(|old| new.moved.offset(old)), [0, 2, 6, 8, 11]);
    }

    #[test]
    fn going_back_is_an_error() {
        let old = Section { index: 1, name: "x", data: b"abcd", relocs: &[] };
        let mut splice = Splice::new(&old);
        splice.copy_to(3).unwrap();
        assert!(splice.copy_to(2).is_err());
        assert!(splice.replace_to(5, b"").is_err());
    }
}
