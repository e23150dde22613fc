//! Linux's x86-64 structures.

/// The little-endian 64-bit word at byte `at`.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The little-endian 32-bit word at byte `at`.
pub(super) fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A structure under construction: fields in memory order, padding explicit.
#[derive(Default)]
pub(super) struct Record(pub(super) Vec<u8>);

impl Record {
    pub(super) fn new() -> Self {
        Record::default()
    }

    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn i64(self, value: i64) -> Self {
        self.u64(value as u64)
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Zeros up to a total of `length` bytes.
    pub(super) fn padded_to(mut self, length: usize) -> Self {
        debug_assert!(self.0.len() <= length);
        self.0.resize(length, 0);
        self
    }
}
