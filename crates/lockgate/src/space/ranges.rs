//! Which parts of a domain's heap and mmap area are mapped: the books, without the memory.
use lockgate_syscall::Protection;
use std::ops::Range;

/// Disjoint mapped ranges of page-aligned window offsets.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges {
    /// Sorted. Neighbours with equal rights are merged, as the kernel does. Few enough for an array, at 24 bytes each.
    pieces: Vec<Piece>,
    /// Sum of their lengths.
    bytes: u64,
    /// Neighbours stay apart.
    apart: bool,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    start: u64,
    end: u64,
    rights: Protection,
}

impl Ranges {
    /// Ranges that are as they were inserted, but for what is taken away.
    pub fn unmerged() -> Ranges {
        Ranges { apart: true, ..Ranges::default() }
    }

    /// Number of ranges: what they cost in kernel mappings.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Bytes mapped.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes mapped inside `range`.
    pub fn mapped(&self, range: Range<u64>) -> u64 {
        self.pieces(range).map(|(piece, _)| piece.end - piece.start).sum()
    }

    /// The rights of `range`, if all of it is mapped with the same.
    pub fn rights(&self, range: &Range<u64>) -> Option<Protection> {
        let piece = self.pieces.get(self.first_after(range.start))?;
        (piece.start <= range.start && range.end <= piece.end).then_some(piece.rights)
    }

    /// Forgets what is mapped inside `range`.
    pub fn remove(&mut self, range: Range<u64>) {
        let touched = self.touched(&range);
        if !touched.is_empty() {
            self.replace(touched, range, None);
        }
    }

    /// Records `range` as mapped, replacing what was there.
    pub fn insert(&mut self, range: Range<u64>, rights: Protection) {
        let (mut touched, Range { mut start, mut end }) = (self.touched(&range), range);
        if self.apart {
            self.replace(touched, start..end, Some(rights));
            return;
        }
        // Neighbours, and what is mapped on both sides of an end, become one with it.
        if let Some(before) = self.pieces[..touched.start].last()
            && (before.end, before.rights) == (start, rights)
        {
            start = before.start;
            touched.start -= 1;
        }
        if let Some(after) = self.pieces.get(touched.end)
            && (after.start, after.rights) == (end, rights)
        {
            end = after.end;
            touched.end += 1;
        }
        for piece in &self.pieces[touched.clone()] {
            if piece.rights == rights {
                (start, end) = (start.min(piece.start), end.max(piece.end));
            }
        }
        self.replace(touched, start..end, Some(rights));
    }

    /// The pieces of `range` that are mapped, with their rights.
    pub fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, Protection)> + '_ {
        let (from, to) = (range.start, range.end);
        let clip = move |piece: &Piece| (piece.start.max(from)..piece.end.min(to), piece.rights);
        self.pieces[self.touched(&range)].iter().map(clip)
    }

    /// The pieces of `range` that are not mapped.
    pub fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for (piece, _) in self.pieces(range.clone()) {
            if piece.start > at {
                gaps.push(at..piece.start);
            }
            at = piece.end;
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// The highest free range of `length` bytes inside `area`.
    pub fn highest_gap(&self, area: Range<u64>, length: u64) -> Option<u64> {
        let mut top = area.end;
        for piece in self.pieces[..self.touched(&area).end].iter().rev() {
            if piece.end <= area.start || top.checked_sub(length).is_some_and(|at| at >= piece.end) {
                break;
            }
            top = piece.start;
        }
        top.checked_sub(length).filter(|&at| at >= area.start)
    }

    /// All pieces, with their rights.
    pub fn all_pieces(&self) -> impl Iterator<Item = (Range<u64>, Protection)> + '_ {
        self.pieces.iter().map(|piece| (piece.start..piece.end, piece.rights))
    }

    /// All ranges.
    pub fn all(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.pieces.iter().map(|piece| piece.start..piece.end)
    }

    /// Indices of the pieces that share a byte with `range`.
    fn touched(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.first_after(range.start);
        let count = self.pieces[first..].iter().take_while(|piece| piece.start < range.end).count();
        first..first + count
    }

    /// Index of the first piece that ends after `at`.
    fn first_after(&self, at: u64) -> usize {
        self.pieces.partition_point(|piece| piece.end <= at)
    }

    /// Puts a piece, or none, in the place of `range`, which the pieces at `touched` and no others have a byte of; what they have beside it
    /// stays.
    fn replace(&mut self, touched: Range<usize>, range: Range<u64>, rights: Option<Protection>) {
        let old = &self.pieces[touched.clone()];
        let before = old.first().filter(|piece| piece.start < range.start);
        let before = before.map(|piece| Piece { end: range.start, ..*piece });
        let after = old.last().filter(|piece| piece.end > range.end);
        let after = after.map(|piece| Piece { start: range.end, ..*piece });
        let new = rights.map(|rights| Piece { start: range.start, end: range.end, rights });
        self.bytes -= old.iter().map(Piece::length).sum::<u64>();
        let new = [before, new, after].into_iter().flatten();
        self.bytes += new.clone().map(|piece| piece.length()).sum::<u64>();
        self.pieces.splice(touched, new);
    }
}

impl Piece {
    fn length(&self) -> u64 {
        self.end - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges against a plain array of pages.
    #[test]
    fn ranges_agree_with_an_array_of_pages() {
        let mut ranges = Ranges::default();
        let mut pages = [None; 64];
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..20_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let start = random % 64;
            let end = start + 1 + (random >> 8) % (64 - start);
            let rights =
                [None, Some(Protection::Read), Some(Protection::ReadWrite)][(random >> 20) as usize % 3];
            match rights {
                Some(rights) => ranges.insert(start..end, rights),
                None => ranges.remove(start..end),
            }
            pages[start as usize..end as usize].fill(rights);
            let mapped = pages.iter().flatten().count() as u64;
            assert_eq!((ranges.mapped(0..64), ranges.bytes()), (mapped, mapped));
            assert_eq!(ranges.rights(&(start..end)), rights);
            let here = &pages[start as usize..];
            let same = here.iter().take_while(|&&page| page == here[0]).count() as u64;
            assert_eq!(ranges.rights(&(start..start + same)), here[0]);
            assert_eq!(ranges.rights(&(start..start + same + 1)), None);
            let runs = pages.chunk_by(|a, b| a == b).filter(|run| run[0].is_some()).count();
            assert_eq!(ranges.len(), runs, "{ranges:?}");
            let free: u64 = ranges.gaps(0..64).iter().map(|gap| gap.end - gap.start).sum();
            assert_eq!(free, 64 - mapped);
            let length = 1 + (random >> 30) % 8;
            let gap = (0..=64 - length as usize)
                .rev()
                .find(|&at| pages[at..at + length as usize].iter().all(Option::is_none));
            assert_eq!(ranges.highest_gap(0..64, length), gap.map(|at| at as u64));
        }
    }
}
