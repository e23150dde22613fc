//! Mutations for stable Rust: the same seed gives the same inputs.
//!
//! libFuzzer (`fuzz/`) follows coverage; this does not. It keeps the corpus alive in `make test`: each input of it, and inputs near it.

use lockgate_evidence::random::Random;

/// Makes inputs from those of a corpus.
pub struct Mutator<'c> {
    corpus: &'c [Vec<u8>],
    tokens: &'c [&'c [u8]],
    longest: usize,
    random: Random,
}

/// Numbers at which arithmetic goes wrong.
const EDGES: [u64; 14] = [
    0,
    1,
    7,
    8,
    0x7f,
    0xff,
    0x1000,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x4000_0000,
    1 << 63,
    u64::MAX,
];

impl<'c> Mutator<'c> {
    /// From `corpus`, which is not empty, and words of the format; no input is longer than `longest` bytes.
    #[must_use]
    pub fn new(corpus: &'c [Vec<u8>], tokens: &'c [&'c [u8]], longest: usize, seed: u64) -> Mutator<'c> {
        Mutator { corpus, tokens, longest, random: Random::new(seed) }
    }

    /// One of the corpus with one to six changes.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = self.random.of(self.corpus).clone();
        for _ in 0..=self.random.below(6) {
            self.change(&mut input);
        }
        input.truncate(self.longest);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.place(input.len() + 1);
        match self.random.below(10) {
            0 if at < input.len() => input[at] ^= 1 << self.random.below(8),
            1 if at < input.len() => input[at] = self.random.word() as u8,
            // A number of 1, 2, 4 or 8 bytes becomes an edge, or moves a little.
            2 | 3 => {
                let size = 1 << self.random.below(4);
                let Some(bytes) = input.get_mut(at..at + size) else { return };
                let mut word = [0; 8];
                word[..size].copy_from_slice(bytes);
                let new = match self.random.below(3) {
                    0 => *self.random.of(&EDGES),
                    1 => u64::from_le_bytes(word).wrapping_add(self.random.below(17)).wrapping_sub(8),
                    _ => u64::from_le_bytes(word).rotate_left(1),
                };
                bytes.copy_from_slice(&new.to_le_bytes()[..size]);
            }
            4 => {
                let end = input.len().min(at + 1 + self.place(64));
                input.drain(at..end);
            }
            5 => {
                let bytes = self.random.bytes();
                let length = 1 + self.place(bytes.len());
                input.splice(at..at, bytes[..length].iter().copied());
            }
            // A piece of the input, or of another one, here as well.
            6 | 7 => {
                let other =
                    if self.random.one_in(2) { input.clone() } else { self.random.of(self.corpus).clone() };
                let from = self.place(other.len() + 1);
                let to = other.len().min(from + 1 + self.place(128));
                let end = if self.random.one_in(2) { at } else { input.len().min(at + to - from) };
                input.splice(at..end, other[from..to].iter().copied());
            }
            8 if !self.tokens.is_empty() => {
                let token = *self.random.of(self.tokens);
                let end = if self.random.one_in(2) { at } else { input.len().min(at + token.len()) };
                input.splice(at..end, token.iter().copied());
            }
            _ => {
                // The end of another one.
                let other = self.random.of(self.corpus);
                input.truncate(at);
                input.extend(other.get(at..).unwrap_or_default());
            }
        }
    }

    fn place(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Mutator;

    #[test]
    fn inputs_are_the_same_in_every_run_and_differ_from_each_other() {
        let corpus = [b"int f(void)".to_vec(), b"double g(double)".to_vec()];
        let make = |seed| {
            let mut mutator = Mutator::new(&corpus, &[b"struct"], 64, seed);
            (0..1000).map(|_| mutator.input()).collect::<Vec<_>>()
        };
        let inputs = make(1);
        assert_eq!(inputs, make(1));
        assert_ne!(inputs, make(2));
        assert!(inputs.iter().all(|input| input.len() <= 64));
        let different: std::collections::BTreeSet<_> = inputs.iter().collect();
        assert!(different.len() > 800, "{}", different.len());
    }
}
