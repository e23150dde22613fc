//! Sets of places in a text.

/// One bit per byte of the text.
#[derive(Clone, Debug)]
pub(crate) struct Bitmap(Vec<u64>);

impl Bitmap {
    pub(crate) fn new(bytes: usize) -> Bitmap {
        Bitmap(vec![0; bytes / 64 + 1])
    }

    pub(crate) fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub(crate) fn remove(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    pub(crate) fn contains(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }
}
