//! A set of numbers that finds the last one before another quickly: a bit for each, and above each word of bits a bit that says whether it has any.

/// Numbers below a bound.
#[derive(Debug)]
pub(super) struct Starts(Vec<Vec<u64>>);

impl Starts {
    /// An empty set of numbers below `bound`.
    pub fn new(bound: u32) -> Starts {
        let words = |bits: u32| bits.div_ceil(64).max(1);
        let levels = std::iter::successors(Some(words(bound)), |count| (*count > 1).then(|| words(*count)));
        Starts(levels.map(|count| vec![0; count as usize]).collect())
    }

    pub fn insert(&mut self, mut number: u32) {
        for level in &mut self.0 {
            level[number as usize / 64] |= 1 << (number % 64);
            number /= 64;
        }
    }

    pub fn remove(&mut self, mut number: u32) {
        for level in &mut self.0 {
            let word = &mut level[number as usize / 64];
            *word &= !(1 << (number % 64));
            if *word != 0 {
                break;
            }
            number /= 64;
        }
    }

    /// The largest one that is not above `number`, which is below the bound.
    pub fn last_up_to(&self, number: u32) -> Option<u32> {
        // In its own word the number itself counts; further up, what is before the word below.
        let (mut at, mut these) = (number, u64::MAX >> (63 - number % 64));
        for (height, level) in self.0.iter().enumerate() {
            let before = level[at as usize / 64] & these;
            if before != 0 {
                let found = at / 64 * 64 + before.ilog2();
                let down = self.0[..height].iter().rev();
                return Some(down.fold(found, |at, level| at * 64 + level[at as usize].ilog2()));
            }
            at /= 64;
            these = (1 << (at % 64)) - 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Starts;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_finds_what_a_sorted_set_does(
            bound in prop_oneof![1..=64_u32, 65..=4096_u32, 4097..=300_000_u32],
            changes in prop::collection::vec((any::<u32>(), any::<bool>(), any::<u32>()), 1..200),
        ) {
            let (mut starts, mut set) = (Starts::new(bound), BTreeSet::new());
            for (number, inserts, asked) in changes {
                let number = if inserts { number % bound } else { set.last().copied().unwrap_or(0) };
                if inserts {
                    starts.insert(number);
                    set.insert(number);
                } else {
                    starts.remove(number);
                    set.remove(&number);
                }
                for asked in [asked % bound, number, bound - 1, 0] {
                    prop_assert_eq!(starts.last_up_to(asked), set.range(..=asked).next_back().copied());
                }
            }
        }
    }
}
