//! Random numbers that are the same in every run with the same seed.

/// xorshift64* (S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled").
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator; different seeds give unrelated sequences.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.word();
        }
        random
    }

    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.word() >> 11) % end
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of them.
    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// Sixteen random bytes.
    pub fn bytes(&mut self) -> [u8; 16] {
        (u128::from(self.word()) << 64 | u128::from(self.word())).to_le_bytes()
    }
}
