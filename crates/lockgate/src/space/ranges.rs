//! Which parts of a domain's heap and mmap area are mapped: the books, without the memory.
use crate::syscall::Protection;
use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint mapped ranges of page-aligned window offsets.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges {
    /// Start → (end, rights). Neighbours with equal rights are merged, as the kernel does.
    map: BTreeMap<u64, (u64, Protection)>,
}

impl Ranges {
    /// Number of ranges: what they cost in kernel mappings.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Bytes mapped inside `range`.
    pub fn mapped(&self, range: Range<u64>) -> u64 {
        self.within(&range).map(|(start, end, _)| end.min(range.end) - start.max(range.start)).sum()
    }

    /// Forgets what is mapped inside `range`.
    pub fn remove(&mut self, range: Range<u64>) {
        let touched: Vec<_> = self.within(&range).collect();
        for (start, end, rights) in touched {
            self.map.remove(&start);
            if start < range.start {
                self.map.insert(start, (range.start, rights));
            }
            if end > range.end {
                self.map.insert(range.end, (end, rights));
            }
        }
    }

    /// Records `range` as mapped, replacing what was there.
    pub fn insert(&mut self, range: Range<u64>, rights: Protection) {
        self.remove(range.clone());
        let Range { mut start, mut end } = range;
        if let Some((&before, &(before_end, before_rights))) = self.map.range(..start).next_back()
            && before_end == start
            && before_rights == rights
        {
            start = before;
        }
        if let Some(&(after_end, after_rights)) = self.map.get(&end)
            && after_rights == rights
        {
            self.map.remove(&end);
            end = after_end;
        }
        self.map.insert(start, (end, rights));
    }

    /// The pieces of `range` that are mapped, with their rights.
    pub fn pieces(&self, range: Range<u64>) -> Vec<(Range<u64>, Protection)> {
        self.within(&range)
            .map(|(start, end, rights)| (start.max(range.start)..end.min(range.end), rights))
            .collect()
    }

    /// The pieces of `range` that are not mapped.
    pub fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for (start, end, _) in self.within(&range) {
            if start > at {
                gaps.push(at..start);
            }
            at = at.max(end);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// The highest free range of `length` bytes inside `area`.
    pub fn highest_gap(&self, area: Range<u64>, length: u64) -> Option<u64> {
        let mut top = area.end;
        for (&start, &(end, _)) in self.map.range(..area.end).rev() {
            if end <= area.start {
                break;
            }
            if top.checked_sub(length).is_some_and(|at| at >= end) {
                break;
            }
            top = start;
        }
        top.checked_sub(length).filter(|&at| at >= area.start)
    }

    /// All ranges.
    pub fn all(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.map.iter().map(|(&start, &(end, _))| start..end)
    }

    fn within(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, u64, Protection)> + use<'_> {
        let first = self.map.range(..=range.start).next_back().map_or(range.start, |(&start, _)| start);
        let (from, to) = (range.start, range.end);
        self.map
            .range(first..to.max(first))
            .map(|(&start, &(end, rights))| (start, end, rights))
            .filter(move |&(start, end, _)| end > from && start < to)
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
            assert_eq!(ranges.mapped(0..64), mapped);
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
