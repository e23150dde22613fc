//! One end of a queue in a shared region: `lockgate_ring.h` in Rust.

use crate::Plain;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering};

/// Bytes between the words that the two sides write, and before the elements.
const LINE: usize = 64;

/// The other side's index is impossible: give the ring up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrupted;

impl core::fmt::Display for Corrupted {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the other side of the ring has written an impossible index")
    }
}

impl core::error::Error for Corrupted {}

/// One end of a queue with one producer and one consumer, which need not trust each other. The host makes it
/// (`lockgate::grant::Ring`) and says where it is and how many elements it has. This side's index is here, not in the shared memory.
/// Elements are copied. No operation waits.
#[derive(Debug)]
pub struct Ring<T> {
    at: *mut u8,
    capacity: u32,
    index: u32,
    elements: PhantomData<T>,
}

// SAFETY: one end, used by one thread at a time; the other end expects nothing of it.
unsafe impl<T: Plain + Send> Send for Ring<T> {}

impl<T: Plain> Ring<T> {
    /// One end of a fresh ring. None if the capacity is not a power of two.
    ///
    /// # Safety
    /// The ring lies at `at`, in memory of a grant for reading and writing, and has so many elements of this size.
    pub unsafe fn new(at: *mut u8, capacity: u32) -> Option<Ring<T>> {
        capacity.is_power_of_two().then_some(Ring { at, capacity, index: 0, elements: PhantomData })
    }

    /// Adds an element. False if the ring is full.
    ///
    /// # Errors
    /// [`Corrupted`].
    pub fn push(&mut self, element: &T) -> Result<bool, Corrupted> {
        let filled = self.index.wrapping_sub(self.word(0).load(Ordering::Acquire));
        if filled > self.capacity {
            return Err(Corrupted);
        }
        if filled == self.capacity {
            return Ok(false);
        }
        // SAFETY: an element of the ring, by `new`; the other side may look at any time, so nothing refers to it.
        unsafe { self.element().write_unaligned(*element) };
        self.index = self.index.wrapping_add(1);
        self.word(LINE).store(self.index, Ordering::Release);
        Ok(true)
    }

    /// Takes the oldest element. None if there is none.
    ///
    /// # Errors
    /// [`Corrupted`].
    pub fn pop(&mut self) -> Result<Option<T>, Corrupted> {
        let filled = self.word(LINE).load(Ordering::Acquire).wrapping_sub(self.index);
        if filled > self.capacity {
            return Err(Corrupted);
        }
        if filled == 0 {
            return Ok(None);
        }
        // SAFETY: as in `push`; every pattern of bits is a value.
        let element = unsafe { self.element().read_unaligned() };
        self.index = self.index.wrapping_add(1);
        self.word(0).store(self.index, Ordering::Release);
        Ok(Some(element))
    }

    /// Index of the consumer, at 0, or of the producer, in the next line.
    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: in the ring, by `new`, and both sides use it as an atomic word.
        unsafe { &*self.at.add(offset).cast::<AtomicU32>() }
    }

    fn element(&self) -> *mut T {
        let number = (self.index & (self.capacity - 1)) as usize;
        // SAFETY: in the ring, by `new`.
        unsafe { self.at.add(2 * LINE + number * size_of::<T>()).cast::<T>() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Corrupted, Ring};

    #[repr(align(64))]
    struct Memory([u8; 128 + 4 * 8]);

    #[test]
    fn both_ends() {
        let mut memory = Memory([0; 128 + 4 * 8]);
        let at = memory.0.as_mut_ptr();
        // SAFETY: memory of the test's own, large enough, which is used through the rings alone.
        let (mut producer, mut consumer) =
            unsafe { (Ring::<u64>::new(at, 4).unwrap(), Ring::<u64>::new(at, 4).unwrap()) };
        for round in 0..10 {
            for number in 0..4 {
                assert_eq!(producer.push(&(round * 10 + number)), Ok(true));
            }
            assert_eq!(producer.push(&0), Ok(false));
            for number in 0..4 {
                assert_eq!(consumer.pop(), Ok(Some(round * 10 + number)));
            }
            assert_eq!(consumer.pop(), Ok(None));
        }
        // SAFETY: the same memory, which the other side may fill with anything.
        unsafe { at.add(64).cast::<u32>().write(1000) };
        assert_eq!(consumer.pop(), Err(Corrupted));
        // SAFETY: as above.
        assert!(unsafe { Ring::<u64>::new(at, 3) }.is_none());
    }
}
