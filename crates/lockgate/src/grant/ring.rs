//! A queue in shared memory: one producer, one consumer, who need not trust each other.
//!
//! Layout, the same as in `lockgate_ring.h`: the consumer's index (a 32-bit word at byte 0), the producer's (at byte 64), elements
//! from byte 128. Indices count elements modulo 2³².
//!
//! Neither side believes anything it finds there. Capacity and element size are its own; its own index it keeps to
//! itself, and writes only; the other's it loads once per operation, and refuses if it is impossible. So a hostile side can
//! send nonsense, or nothing, but cannot make this side leave the ring.
use super::{GrantError, Region, RingError};
use crate::memory::{Plain, Tainted};
use std::fmt;
use std::marker::PhantomData;

/// Byte of the consumer's index.
const HEAD: u64 = 0;
/// Byte of the producer's index.
const TAIL: u64 = 64;
/// Byte of the first element.
const ELEMENTS: u64 = 128;

/// A fresh ring in a region. Take one end for the host, and have a domain take the other with `lg_ring_open`
/// of `lockgate_ring.h`; or leave both to domains. Each side must be able to write to the region.
///
/// ```
/// # use lockgate::{Region, grant::Ring};
/// # fn main() -> Result<(), lockgate::grant::RingError> {
/// let region = Region::new(Ring::<u64>::size(256))?;
/// let mut producer = Ring::<u64>::new(&region, 0, 256)?.producer();
/// let mut consumer = Ring::<u64>::open(&region, 0, 256)?.consumer();
/// assert!(producer.push(&7)?);
/// assert_eq!(consumer.pop()?.and_then(|n| n.check(|n| *n < 10)), Some(7));
/// assert!(consumer.pop()?.is_none());
/// # Ok(())
/// # }
/// ```
pub struct Ring<T> {
    region: Region,
    /// First byte in the region.
    at: u64,
    capacity: u32,
    /// This side's own index.
    index: u32,
    kind: PhantomData<fn(T) -> T>,
}

impl<T: Plain> Ring<T> {
    /// Bytes of a ring of `capacity` elements.
    pub const fn size(capacity: u32) -> u64 {
        ELEMENTS + capacity as u64 * size_of::<T>() as u64
    }

    /// Makes an empty ring of `capacity` elements (a power of two) at byte `at` of the region, a multiple of 64.
    ///
    /// # Errors
    /// [`RingError`].
    pub fn new(region: &Region, at: u64, capacity: u32) -> Result<Self, RingError> {
        let ring = Ring::open(region, at, capacity)?;
        region.memory().store(at + HEAD, 0)?;
        region.memory().store(at + TAIL, 0)?;
        Ok(ring)
    }

    /// An end of a ring that was made with the same numbers and not used yet at that end.
    ///
    /// # Errors
    /// [`RingError`].
    pub fn open(region: &Region, at: u64, capacity: u32) -> Result<Self, RingError> {
        if !capacity.is_power_of_two() {
            return Err(RingError::Capacity(capacity));
        }
        if size_of::<T>() == 0 {
            return Err(RingError::NoElement);
        }
        let (size, length) = (Self::size(capacity), region.length());
        if !at.is_multiple_of(64) || at.checked_add(size).is_none_or(|end| end > length) {
            return Err(GrantError::Range { at, size, length }.into());
        }
        Ok(Ring { region: region.clone(), at, capacity, index: 0, kind: PhantomData })
    }

    /// The host is the one that pushes.
    pub fn producer(self) -> Producer<T> {
        Producer(self)
    }

    /// The host is the one that pops.
    pub fn consumer(self) -> Consumer<T> {
        Consumer(self)
    }

    /// Elements in the ring, by this side's own `index` and the other's, which lies at `other`.
    fn filled(&self, other: u64, count: impl Fn(u32, u32) -> u32) -> Result<u32, RingError> {
        let claimed = count(self.index, self.region.memory().load(self.at + other)?);
        if claimed > self.capacity {
            return Err(RingError::Corrupted { claimed, capacity: self.capacity });
        }
        Ok(claimed)
    }

    /// Byte of the element at this side's index.
    fn element(&self) -> u64 {
        self.at + ELEMENTS + u64::from(self.index & (self.capacity - 1)) * size_of::<T>() as u64
    }

    /// Moves on, and lets the other side see it.
    fn advance(&mut self, own: u64) -> Result<(), RingError> {
        self.index = self.index.wrapping_add(1);
        Ok(self.region.memory().store(self.at + own, self.index)?)
    }
}

/// The end of a ring that pushes.
pub struct Producer<T>(Ring<T>);

impl<T: Plain> Producer<T> {
    /// Adds an element; `false` if the ring is full.
    ///
    /// # Errors
    /// [`RingError::Corrupted`] if the consumer's index is impossible.
    pub fn push(&mut self, element: &T) -> Result<bool, RingError> {
        let ring = &mut self.0;
        if ring.filled(HEAD, |tail, head| tail.wrapping_sub(head))? == ring.capacity {
            return Ok(false);
        }
        ring.region.memory().write(ring.element(), T::bytes(std::slice::from_ref(element)))?;
        ring.advance(TAIL)?;
        Ok(true)
    }
}

/// The end of a ring that pops.
pub struct Consumer<T>(Ring<T>);

impl<T: Plain> Consumer<T> {
    /// Takes the oldest element, copied once; `None` if the ring is empty.
    ///
    /// # Errors
    /// [`RingError::Corrupted`] if the producer's index is impossible.
    pub fn pop(&mut self) -> Result<Option<Tainted<T>>, RingError> {
        let ring = &mut self.0;
        if ring.filled(TAIL, |head, tail| tail.wrapping_sub(head))? == 0 {
            return Ok(None);
        }
        let mut element = [T::zero()];
        ring.region.memory().read(ring.element(), T::bytes_mut(&mut element))?;
        ring.advance(HEAD)?;
        let [element] = element;
        Ok(Some(Tainted::new(element)))
    }
}

macro_rules! debug {
    ($($name:ident)*) => { $(
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )* };
}

debug!(Ring Producer Consumer);
