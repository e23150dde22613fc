//! The record locks of one domain: who holds those of each file, and which bytes they are, as the kernel has it. Each piece takes memory of
//! the kernel's, which no limit of the domain's counts, and time of every process that locks the file.
use super::descriptors::Description;
use lockgate_kernel::Identity;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Most pieces that one domain has locked at once.
const MOST: usize = 1024;

/// Bytes, from the first to the last, and whether they are locked for writing.
type Piece = (u64, u64, bool);

/// What a domain has locked of one file.
#[derive(Debug)]
struct Held {
    holder: Arc<Description>,
    /// In order; neighbours of one kind are one piece.
    pieces: Vec<Piece>,
}

/// By file: the description that holds the domain's record locks on it, and what they are.
#[derive(Debug, Default)]
pub(super) struct Locks(BTreeMap<Identity, Held>);

impl Locks {
    /// Whether the domain has locked nothing of any file.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Who holds the domain's locks on a file.
    pub(super) fn holder(&self, file: Identity) -> Option<Arc<Description>> {
        self.0.get(&file).map(|held| Arc::clone(&held.holder))
    }

    /// What is locked of the file when `bytes` have been locked, for writing or not, or unlocked.
    ///
    /// # Errors
    /// `ENOLCK`: too many pieces.
    pub(super) fn with(
        &self,
        file: Identity,
        bytes: &RangeInclusive<u64>,
        kind: Option<bool>,
    ) -> Result<Vec<Piece>, Errno> {
        let (first, last) = (*bytes.start(), *bytes.end());
        let old = self.0.get(&file).map_or(&[][..], |held| &held.pieces);
        let mut parts: Vec<Piece> = Vec::with_capacity(old.len() + 2);
        for &(from, to, writing) in old {
            if from < first {
                parts.push((from, to.min(first - 1), writing));
            }
            if to > last {
                parts.push((from.max(last + 1), to, writing));
            }
        }
        parts.extend(kind.map(|writing| (first, last, writing)));
        parts.sort_unstable();
        let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
        for (from, to, writing) in parts {
            match pieces.last_mut() {
                Some((_, end, same)) if *same == writing && *end + 1 == from => *end = to,
                _ => pieces.push((from, to, writing)),
            }
        }
        let others = self.0.iter().filter(|(other, _)| **other != file);
        let all = pieces.len() + others.map(|(_, held)| held.pieces.len()).sum::<usize>();
        // A domain that has fewer pieces afterwards may have as many as there are.
        if all > MOST && pieces.len() > old.len() { Err(Errno::NOLCK) } else { Ok(pieces) }
    }

    /// The kernel has done it. Without locks there is no holder: the next one may hold locks that this one cannot.
    pub(super) fn set(&mut self, file: Identity, holder: Arc<Description>, pieces: Vec<Piece>) {
        if pieces.is_empty() {
            self.0.remove(&file);
        } else {
            self.0.insert(file, Held { holder, pieces });
        }
    }

    /// The domain has no locks on the file any more. Returns who held them.
    pub(super) fn remove(&mut self, file: Identity) -> Option<Arc<Description>> {
        self.0.remove(&file).map(|held| held.holder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Arc<Description> {
        let file: std::os::fd::OwnedFd = tempfile::tempfile().unwrap().into();
        let stat = rustix::fs::fstat(&file).unwrap();
        Arc::new(Description::new(file, &stat, rustix::fs::OFlags::RDWR, false, Vec::new()))
    }

    /// Every sequence of three steps over a few bytes, against what a byte by byte account says.
    #[test]
    fn pieces_are_what_was_locked() {
        let steps: Vec<_> = (0..5_u64)
            .flat_map(|first| (first..5).map(move |last| first..=last))
            .flat_map(|bytes| [None, Some(false), Some(true)].map(|kind| (bytes.clone(), kind)))
            .collect();
        let holder = some();
        let file = holder.identity;
        for one in &steps {
            for two in &steps {
                for three in &steps {
                    let mut locks = Locks::default();
                    let mut each = [None; 5];
                    for (bytes, kind) in [one, two, three] {
                        let pieces = locks.with(file, bytes, *kind).unwrap();
                        locks.set(file, Arc::clone(&holder), pieces);
                        bytes.clone().for_each(|byte| each[byte as usize] = *kind);
                    }
                    let none = Vec::new();
                    let pieces = locks.0.get(&file).map_or(&none, |held| &held.pieces);
                    let mut expected: Vec<Piece> = Vec::new();
                    for (byte, kind) in (0..).zip(each) {
                        let Some(writing) = kind else { continue };
                        match expected.last_mut() {
                            Some((_, end, same)) if *same == writing && *end + 1 == byte => *end = byte,
                            _ => expected.push((byte, byte, writing)),
                        }
                    }
                    assert_eq!(*pieces, expected, "{one:?} {two:?} {three:?}");
                }
            }
        }
    }

    #[test]
    fn there_are_so_many_pieces_and_no_more() {
        let (mut locks, holder) = (Locks::default(), some());
        let file = holder.identity;
        for number in 0..MOST as u64 {
            let pieces = locks.with(file, &(2 * number..=2 * number), Some(true)).unwrap();
            locks.set(file, Arc::clone(&holder), pieces);
        }
        let next = 2 * MOST as u64;
        assert_eq!(locks.with(file, &(next..=next), Some(true)), Err(Errno::NOLCK));
        assert_eq!(locks.with(some().identity, &(0..=0), Some(false)), Err(Errno::NOLCK), "of another file");
        assert_eq!(locks.with(file, &(0..=0), Some(false)).unwrap().len(), MOST, "as many as before");
        assert_eq!(locks.with(file, &(1..=1), Some(true)).unwrap().len(), MOST - 1, "what joins others");
        assert!(locks.with(file, &(0..=u64::MAX >> 1), None).unwrap().is_empty());
    }
}
