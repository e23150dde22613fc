//! Typed parts of a region.
use super::{GrantError, Region};
use crate::memory::{Plain, Tainted};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// Values in memory that domains share: a buffer that is filled in place, without a copy between host and domain.
///
/// Domains may change it at any time, so nothing is ever looked at where it lies: every read is one copy, made before
/// any check, and the checked copy is what the host uses.
///
/// ```
/// # use lockgate::{Region, SharedSlice};
/// # fn main() -> Result<(), lockgate::GrantError> {
/// let region = Region::new(4096)?;
/// let numbers: SharedSlice<u32> = region.slice(0, 16)?;
/// numbers.write(2, &[30, 31])?;
/// let copy = numbers.copy_in(2..4)?.check(|values| values.iter().all(|n| *n < 100));
/// assert_eq!(copy, Some(vec![30, 31]));
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail,E0608
/// # fn f(numbers: &lockgate::SharedSlice<u32>) -> u32 {
/// numbers[0] // a reference into shared memory could change under the host's eyes
/// # }
/// ```
pub struct SharedSlice<T> {
    region: Region,
    /// First byte, from the region's start.
    at: u64,
    length: u64,
    kind: PhantomData<fn(T) -> T>,
}

impl Region {
    /// `count` values from byte `at`.
    ///
    /// # Errors
    /// [`GrantError::Range`] if they are not inside the region, or not aligned.
    pub fn slice<T: Plain>(&self, at: u64, count: u64) -> Result<SharedSlice<T>, GrantError> {
        SharedSlice::new(self, at, count)
    }
}

impl<T: Plain> SharedSlice<T> {
    pub(super) fn new(region: &Region, at: u64, length: u64) -> Result<Self, GrantError> {
        let at = region.part::<T>(at, length)?;
        Ok(SharedSlice { region: region.clone(), at, length, kind: PhantomData })
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// First byte, from the region's start: what [`Grant::pointer`](super::Grant::pointer) takes.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// A copy of one value.
    ///
    /// # Errors
    /// [`GrantError::Range`] beyond the end.
    pub fn get(&self, index: u64) -> Result<Tainted<T>, GrantError> {
        let mut value = [T::zero()];
        self.region.memory().read(self.place(index, 1)?, T::bytes_mut(&mut value))?;
        let [value] = value;
        Ok(Tainted::new(value))
    }

    /// A copy of the values in `range`, made once.
    ///
    /// # Errors
    /// [`GrantError::Range`] beyond the end. Nothing is allocated then.
    pub fn copy_in(&self, range: Range<u64>) -> Result<Tainted<Vec<T>>, GrantError> {
        let count = range.end.saturating_sub(range.start);
        let at = self.place(range.start, count)?;
        let mut values = vec![T::zero(); count as usize];
        self.region.memory().read(at, T::bytes_mut(&mut values))?;
        Ok(Tainted::new(values))
    }

    /// Copies values out of the memory into `values`, from `index` on, once; for callers with a buffer of their own. The
    /// values are the domains' words: check them before use.
    ///
    /// # Errors
    /// [`GrantError::Range`] beyond the end.
    pub fn copy_into(&self, index: u64, values: &mut [T]) -> Result<(), GrantError> {
        let at = self.place(index, values.len() as u64)?;
        self.region.memory().read(at, T::bytes_mut(values))
    }

    /// Writes `values` from `index` on.
    ///
    /// # Errors
    /// [`GrantError::Range`] beyond the end; [`GrantError::Upgrade`] if the host itself may only read.
    pub fn write(&self, index: u64, values: &[T]) -> Result<(), GrantError> {
        self.region.memory().write(self.place(index, values.len() as u64)?, T::bytes(values))
    }

    /// Byte of the region where `count` values from `index` start.
    fn place(&self, index: u64, count: u64) -> Result<u64, GrantError> {
        let size = size_of::<T>() as u64;
        match index.checked_add(count) {
            Some(end) if end <= self.length => Ok(self.at + index * size),
            _ => Err(GrantError::Range {
                at: index.saturating_mul(size),
                size: count.saturating_mul(size),
                length: self.length * size,
            }),
        }
    }
}

impl<T> fmt::Debug for SharedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSlice")
            .field("at", &self.at)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
