//! Types whose values may be any bits.
use super::Pointer;

/// Data without padding, references or forbidden bit patterns: safe to copy from and to a domain.
///
/// # Safety
/// Every bit pattern is a value of the type, and the type has no padding bytes.
pub unsafe trait Plain: Copy + 'static {
    /// All bits zero.
    fn zero() -> Self {
        // SAFETY: every bit pattern is a value.
        unsafe { std::mem::zeroed() }
    }

    /// The values as bytes.
    fn bytes(values: &[Self]) -> &[u8] {
        // SAFETY: no padding, so every byte is initialised.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
    }

    /// The values as bytes to fill.
    fn bytes_mut(values: &mut [Self]) -> &mut [u8] {
        // SAFETY: no padding, and whatever is written is a value.
        unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
    }
}

macro_rules! plain {
    ($($kind:ty)*) => { $(
        // SAFETY: a number: no padding, no forbidden bits.
        unsafe impl Plain for $kind {}
    )* };
}

plain!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f32 f64);

// SAFETY: a transparent u64.
unsafe impl<T: 'static> Plain for Pointer<T> {}
// SAFETY: arrays of plain elements have no padding.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
