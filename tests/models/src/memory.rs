//! Elements of a ring.
use std::mem::size_of;

/// One kind of element is enough.
pub(crate) trait Plain: Copy {
    fn zero() -> Self;
    fn bytes(values: &[Self]) -> &[u64];
    fn bytes_mut(values: &mut [Self]) -> &mut [u64];
}

impl Plain for u64 {
    fn zero() -> u64 {
        0
    }
    fn bytes(values: &[u64]) -> &[u64] {
        values
    }
    fn bytes_mut(values: &mut [u64]) -> &mut [u64] {
        values
    }
}

#[derive(Debug)]
pub(crate) struct Tainted<T>(pub T);

impl<T> Tainted<T> {
    pub(crate) fn new(value: T) -> Tainted<T> {
        Tainted(value)
    }
}

const _: () = assert!(size_of::<u64>() == 8);
