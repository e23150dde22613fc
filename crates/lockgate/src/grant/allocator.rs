//! An allocator of ranges that keeps all it knows elsewhere: none of its data lie in the memory that it gives out.
//!
//! Two-level segregated fit (Masmano et al., *TLSF*, 2004): free pieces are in lists by their size, eight for each power of two, and a bit
//! of each list says whether it is empty. So an allocation looks into one list, a release joins a piece with its free neighbours, and
//! both take the same time however many pieces there are.

use super::starts::Starts;

/// What sizes are rounded up to, and where blocks begin: a cache line, so that two blocks never share one.
pub(super) const GRANULE: u64 = 64;

/// Lists for each power of two.
const SUB: u32 = 8;
/// Pieces of fewer granules have a list for each size.
const SMALL: u32 = 16;
/// Lists: up to 2^25 granules.
const LISTS: usize = (SMALL + (25 - SMALL.ilog2()) * SUB) as usize;
/// No piece.
const NONE: u32 = u32::MAX;

/// What is known of a granule: four words by these places. (Zeros of the allocator are no memory before they are touched, and a large pool
/// that is hardly used is hardly any.)
type Granule = [u32; 4];
/// One of the kinds below.
const KIND: usize = 0;
/// Granules of the piece that begins here.
const LENGTH: usize = 1;
/// Of a free piece: the one before it in its list. Of a block: how many bytes less it has than its granules.
const PREVIOUS: usize = 2;
/// Of a free piece: the one behind it in its list. Of a free piece's last granule: where the piece begins.
const NEXT: usize = 3;

/// No piece begins here.
const INNER: u32 = 0;
/// The last granule of a free piece that has several.
const LAST: u32 = 1;
/// A free piece begins here.
const FREE: u32 = 2;
/// A block begins here.
const BLOCK: u32 = 3;

/// Ranges of `[0, length)`, each free or a block.
#[derive(Debug)]
pub(super) struct Allocator {
    granules: Vec<Granule>,
    /// Granules at which a block or a free piece begins.
    starts: Starts,
    first: [u32; LISTS],
    filled: [u64; LISTS.div_ceil(64)],
    /// Granules that are in no block.
    free: u32,
}

/// The list of free pieces of `length` granules.
fn list_of(length: u32) -> usize {
    if length < SMALL {
        return length as usize;
    }
    let power = length.ilog2();
    let sub = (length >> (power - SUB.ilog2())) - SUB;
    (SMALL + (power - SMALL.ilog2()) * SUB + sub) as usize
}

/// The first list in which every piece has `length` granules at least.
fn list_for(length: u32) -> usize {
    match length < SMALL {
        true => list_of(length),
        false => list_of(length + (1 << (length.ilog2() - SUB.ilog2())) - 1),
    }
}

impl Allocator {
    /// An allocator of `length` bytes, whole granules and at most 1 GiB, all free.
    pub fn new(length: u64) -> Allocator {
        let count = (length / GRANULE) as u32;
        let mut all = Allocator {
            granules: vec![[0; 4]; count as usize],
            starts: Starts::new(count),
            first: [NONE; LISTS],
            filled: [0; LISTS.div_ceil(64)],
            free: count,
        };
        all.insert(0, count);
        all
    }

    /// Bytes that are in no block. (No piece of them need be that large.)
    pub fn free(&self) -> u64 {
        u64::from(self.free) * GRANULE
    }

    /// Where a new block of `size` bytes begins, a multiple of `alignment`, a power of two; `None` if no free piece has room for it.
    pub fn allocate(&mut self, size: u64, alignment: u64) -> Option<u64> {
        let most = self.granules.len() as u64;
        let length = size.div_ceil(GRANULE);
        let step = alignment.div_ceil(GRANULE);
        if length > most || step > most {
            return None;
        }
        let (length, step) = (length as u32, step as u32);
        // Wherever a piece of this length begins, an aligned one is in it.
        let found = self.find(length + step - 1)?;
        let count = self.take(found);
        let start = found.next_multiple_of(step);
        self.insert(found, start - found);
        self.insert(start + length, found + count - start - length);
        let slack = (u64::from(length) * GRANULE - size) as u32;
        *self.at(start) = [BLOCK, length, slack, 0];
        self.starts.insert(start);
        self.free -= length;
        Some(u64::from(start) * GRANULE)
    }

    /// Bytes of the block that begins at `at`; `None` if none does.
    pub fn size(&self, at: u64) -> Option<u64> {
        let block = self.granules.get(usize::try_from(at / GRANULE).ok()?)?;
        let is_block = block[KIND] == BLOCK && at.is_multiple_of(GRANULE);
        is_block.then(|| u64::from(block[LENGTH]) * GRANULE - u64::from(block[PREVIOUS]))
    }

    /// Where the block begins that the byte `at` is in; `None` if it is in none.
    pub fn block_around(&self, at: u64) -> Option<u64> {
        let granule = u32::try_from(at / GRANULE).ok().filter(|one| (*one as usize) < self.granules.len())?;
        let start = u64::from(self.starts.last_up_to(granule)?) * GRANULE;
        (at - start < self.size(start)?).then_some(start)
    }

    /// Ends the block that begins at `at`; `None` if none does.
    pub fn release(&mut self, at: u64) -> Option<()> {
        self.size(at)?;
        let mut start = (at / GRANULE) as u32;
        let mut length = self.at(start)[LENGTH];
        self.free += length;
        self.forget(start);
        if let Some(before) = self.free_before(start) {
            length += self.take(before);
            start = before;
        }
        let behind = start + length;
        if self.kind(behind) == Some(FREE) {
            length += self.take(behind);
        }
        self.insert(start, length);
        Some(())
    }

    fn at(&mut self, granule: u32) -> &mut Granule {
        &mut self.granules[granule as usize]
    }

    fn kind(&self, granule: u32) -> Option<u32> {
        Some(self.granules.get(granule as usize)?[KIND])
    }

    /// No piece begins at `granule` any more.
    fn forget(&mut self, granule: u32) {
        self.at(granule)[KIND] = INNER;
        self.starts.remove(granule);
    }

    /// The free piece that ends where `granule` begins.
    fn free_before(&self, granule: u32) -> Option<u32> {
        let before = granule.checked_sub(1)?;
        match self.kind(before)? {
            FREE => Some(before),
            LAST => Some(self.granules[before as usize][NEXT]),
            _ => None,
        }
    }

    /// A free piece of `length` granules at least.
    fn find(&self, length: u32) -> Option<u32> {
        let list = list_for(length);
        let (word, bit) = (list / 64, list % 64);
        let here = self.filled.get(word)? & (u64::MAX << bit);
        let further = || (word + 1..self.filled.len()).find(|word| self.filled[*word] != 0);
        let found = match here {
            0 => further().map(|word| word * 64 + self.filled[word].trailing_zeros() as usize),
            _ => Some(word * 64 + here.trailing_zeros() as usize),
        };
        if let Some(list) = found {
            return Some(self.first[list]);
        }
        // None that surely is large enough. Those in the list of this very size may be.
        let mut piece = self.first[list_of(length)];
        while piece != NONE && self.granules[piece as usize][LENGTH] < length {
            piece = self.granules[piece as usize][NEXT];
        }
        (piece != NONE).then_some(piece)
    }

    /// Makes `[start, start + length)` a free piece, if it is not empty.
    fn insert(&mut self, start: u32, length: u32) {
        if length == 0 {
            return;
        }
        let list = list_of(length);
        let next = std::mem::replace(&mut self.first[list], start);
        self.filled[list / 64] |= 1 << (list % 64);
        if next != NONE {
            self.at(next)[PREVIOUS] = start;
        }
        if length > 1 {
            let last = self.at(start + length - 1);
            (last[KIND], last[NEXT]) = (LAST, start);
        }
        *self.at(start) = [FREE, length, NONE, next];
        self.starts.insert(start);
    }

    /// Takes a free piece out of its list. It is none any more; returns how many granules it had.
    fn take(&mut self, start: u32) -> u32 {
        let [_, length, previous, next] = *self.at(start);
        let list = list_of(length);
        match previous {
            NONE => self.first[list] = next,
            previous => self.at(previous)[NEXT] = next,
        }
        if next != NONE {
            self.at(next)[PREVIOUS] = previous;
        }
        if self.first[list] == NONE {
            self.filled[list / 64] &= !(1 << (list % 64));
        }
        self.at(start + length - 1)[KIND] = INNER;
        self.forget(start);
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use support::Part;

    /// Bytes of the allocator.
    const LENGTH: u64 = 1 << 18;

    #[derive(Debug, Clone)]
    enum Step {
        /// Bytes; the alignment's power of two.
        Allocate(u64, u32),
        /// Which of the living blocks.
        Release(prop::sample::Index),
        /// Where perhaps none begins.
        ReleaseAt(u64),
        /// Whose block is it?
        Ask(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let size = prop_oneof![4 => 1..300u64, 3 => 1..8192u64, 1 => 1..2 * LENGTH, 1 => (0..64u32).prop_map(|n| 1 << n)];
        prop_oneof![
            5 => (size, prop_oneof![3 => Just(0u32), 1 => 0..13u32]).prop_map(|(size, power)| Step::Allocate(size, power)),
            4 => any::<prop::sample::Index>().prop_map(Step::Release),
            1 => prop_oneof![0..LENGTH + 128, any::<u64>()].prop_map(Step::ReleaseAt),
            1 => (0..LENGTH + 128).prop_map(Step::Ask),
        ]
    }

    /// The block of the model that has the byte `at`.
    fn around(model: &BTreeMap<u64, u64>, at: u64) -> Option<u64> {
        model.range(..=at).next_back().filter(|(start, size)| at - **start < **size).map(|(start, _)| *start)
    }

    /// Blocks and free pieces fill it, no two free pieces touch, and each is in its list.
    fn check(pool: &Allocator, model: &BTreeMap<u64, u64>) {
        let mut at = 0;
        let (mut blocks, mut free, mut was_free) = (0, 0, false);
        while at < pool.granules.len() {
            let [kind, length, ..] = pool.granules[at];
            match kind {
                FREE => {
                    assert!(!was_free, "two free pieces touch at {at}");
                    let mut listed = pool.first[list_of(length)];
                    while listed as usize != at {
                        listed = pool.granules[listed as usize][NEXT];
                    }
                    free += length;
                }
                BLOCK => blocks += 1,
                _ => panic!("{kind} at {at}"),
            }
            was_free = kind == FREE;
            at += length as usize;
        }
        assert_eq!((blocks, free), (model.len(), pool.free));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(Part::one_in(8, "steps of an allocator").among(0..1_000).count() as u32))]

        /// A million steps in `make thorough`, against a map of blocks. Red without joining, without the bits of lists, without looking at what begins where.
        #[test]
        fn it_does_what_a_map_of_blocks_does(steps in prop::collection::vec(step(), 1_000)) {
            let mut pool = Allocator::new(LENGTH);
            let mut model = BTreeMap::new();
            for step in &steps {
                match step {
                    Step::Allocate(size, power) => match pool.allocate(*size, 1 << power) {
                        Some(at) => {
                            prop_assert!(at.is_multiple_of(1 << power) && at.is_multiple_of(GRANULE));
                            prop_assert!(size.checked_add(at).is_some_and(|end| end <= LENGTH));
                            let before: Option<(&u64, &u64)> = model.range(..at + size).next_back();
                            // (No two in one granule.)
                            prop_assert!(before.is_none_or(|(start, size)| (start + size).next_multiple_of(GRANULE) <= at));
                            model.insert(at, *size);
                        }
                        None => {
                            // What every piece is too small for, wherever an aligned place in it is.
                            let needed = size.div_ceil(GRANULE) + (1u64 << power).div_ceil(GRANULE) - 1;
                            let ends = model.iter().map(|(at, size)| (at + size).next_multiple_of(GRANULE));
                            let starts = model.keys().copied().chain([LENGTH]);
                            let gap = starts.zip([0].into_iter().chain(ends)).map(|(start, end)| (start - end) / GRANULE).max();
                            prop_assert!(gap.is_some_and(|gap| gap < needed), "{gap:?} of {needed}");
                        }
                    },
                    Step::Release(which) if !model.is_empty() => {
                        let at = *which.get(&model.keys().copied().collect::<Vec<_>>());
                        model.remove(&at);
                        prop_assert_eq!(pool.release(at), Some(()));
                        prop_assert_eq!(pool.release(at), None, "twice");
                    }
                    Step::Release(_) => {}
                    Step::ReleaseAt(at) => prop_assert_eq!(pool.release(*at).is_some(), model.remove(at).is_some()),
                    Step::Ask(at) => {
                        prop_assert_eq!(pool.block_around(*at), around(&model, *at));
                        prop_assert_eq!(pool.size(*at), model.get(at).copied());
                    }
                }
            }
            check(&pool, &model);
            for at in model.keys() {
                prop_assert_eq!(pool.release(*at), Some(()));
            }
            prop_assert_eq!((pool.free(), pool.allocate(LENGTH, 1)), (LENGTH, Some(0)), "one piece again");
        }
    }

    #[test]
    fn a_list_has_what_its_size_says() {
        for length in (1..5_000).chain([1 << 20, (1 << 24) - 1, 1 << 24]) {
            assert!(list_for(length) >= list_of(length) && list_for(length) < LISTS, "{length}");
            assert!(list_of(length) <= list_of(length + 1), "{length}");
            let least = (1..=length).rev().take_while(|n| list_of(*n) >= list_for(length)).count();
            assert!(least <= 1, "{length}: a piece of less is in the list for it");
        }
    }
}
