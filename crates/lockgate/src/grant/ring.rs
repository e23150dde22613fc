//! A queue in shared memory: one producer, one consumer, who need not trust each other.
//!
//! Layout, the same as in `lockgate_ring.h`: the consumer's index (a 32-bit word at byte 0), the producer's (at byte 64), elements
//! from byte 128. Indices count elements modulo 2³². Behind each index is a word at which its side sleeps: it sets that
//! to 1 first, and who moves the other index on sets it to 0, and wakes.
//!
//! Neither side believes anything it finds there. Capacity and element size are its own; its own index it keeps to
//! itself, and writes only; the other's it loads once per operation, and refuses if it is impossible. So a hostile side can
//! send nonsense, or nothing, but cannot make this side leave the ring.
use super::{GrantError, Region, RingError};
use crate::memory::{Plain, Tainted};
use crate::sync::Instant;
use crate::sync::atomic::{Ordering, fence};
use std::fmt;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Byte of the consumer's index.
const HEAD: u64 = 0;
/// Byte of the producer's index.
const TAIL: u64 = 64;
/// Behind an index: where its side sleeps, 1 if it does, or is about to.
const SLEEPS: u64 = 4;
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
        for word in [HEAD, HEAD + SLEEPS, TAIL, TAIL + SLEEPS] {
            region.memory().store(at + word, 0)?;
        }
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

    /// Wakes the other side, with its index at `other`, if it sleeps.
    fn wake(&self, other: u64) -> Result<(), RingError> {
        // Either it sees our index behind its word, or we see its word behind our index.
        fence(Ordering::SeqCst);
        let sleeps = self.at + other + SLEEPS;
        if self.region.memory().load(sleeps)? != 0 {
            // It sleeps at this word: if it is only about to, it finds that this is another, and looks again.
            self.region.memory().store(sleeps, 0)?;
            self.region.wake(sleeps)?;
        }
        Ok(())
    }

    /// Has the other side wake this one, with its index at `own`, when it next moves its index on.
    fn arm(&self, own: u64) -> Result<(), RingError> {
        self.region.memory().store(self.at + own + SLEEPS, 1)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Does `attempt` until it succeeds, asleep in between; `None` once `timeout` is over.
    fn until<R>(
        &mut self,
        [own, other]: [u64; 2],
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut Self) -> Result<Option<R>, RingError>,
    ) -> Result<Option<R>, RingError> {
        // A time that no clock gets to is for ever.
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut is_armed = false;
        loop {
            if let Some(result) = attempt(self)? {
                self.wake(other)?;
                return Ok(Some(result));
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            match is_armed {
                true => drop(self.region.wait(self.at + own + SLEEPS, 1, left)?),
                false => self.arm(own)?,
            }
            is_armed = !is_armed;
        }
    }
}

/// The end of a ring that pushes.
pub struct Producer<T>(Ring<T>);

impl<T: Plain> Producer<T> {
    /// Adds an element; `false` if the ring is full. A consumer that sleeps is not woken: [`wake`](Producer::wake) does that, once for many.
    ///
    /// # Errors
    /// [`RingError::Corrupted`] if the consumer's index is impossible.
    pub fn push(&mut self, element: &T) -> Result<bool, RingError> {
        self.0.push(element)
    }

    /// Wakes the consumer, if it sleeps for what was pushed.
    ///
    /// # Errors
    /// [`RingError::Grant`].
    pub fn wake(&self) -> Result<(), RingError> {
        self.0.wake(HEAD)
    }

    /// Adds an element and wakes the consumer, asleep while the ring is full; `false` once `timeout` is over (none: never). A consumer that never pops
    /// has it sleep for all of that.
    ///
    /// # Errors
    /// As for [`push`](Producer::push).
    pub fn send(&mut self, element: &T, timeout: Option<Duration>) -> Result<bool, RingError> {
        let push = |ring: &mut Ring<T>| Ok(ring.push(element)?.then_some(()));
        Ok(self.0.until([TAIL, HEAD], timeout, push)?.is_some())
    }

    /// Has an eventfd told when the consumer makes room after [`arm`](Producer::arm), or no longer: [`Region::notify`].
    ///
    /// # Errors
    /// [`GrantError::Event`].
    pub fn notify(&self, event: Option<BorrowedFd<'_>>) -> Result<(), RingError> {
        Ok(self.0.region.notify(self.0.at + TAIL + SLEEPS, event)?)
    }

    /// Has the consumer tell when it next pops, by a wake. False if there is room already.
    ///
    /// # Errors
    /// As for [`push`](Producer::push).
    pub fn arm(&self) -> Result<bool, RingError> {
        self.0.arm(TAIL)?;
        Ok(self.0.filled(HEAD, |tail, head| tail.wrapping_sub(head))? == self.0.capacity)
    }
}

impl<T: Plain> Ring<T> {
    fn push(&mut self, element: &T) -> Result<bool, RingError> {
        if self.filled(HEAD, |tail, head| tail.wrapping_sub(head))? == self.capacity {
            return Ok(false);
        }
        self.region.memory().write(self.element(), T::bytes(std::slice::from_ref(element)))?;
        self.advance(TAIL)?;
        Ok(true)
    }

    fn pop(&mut self) -> Result<Option<Tainted<T>>, RingError> {
        if self.filled(TAIL, |head, tail| tail.wrapping_sub(head))? == 0 {
            return Ok(None);
        }
        let mut element = [T::zero()];
        self.region.memory().read(self.element(), T::bytes_mut(&mut element))?;
        self.advance(HEAD)?;
        let [element] = element;
        Ok(Some(Tainted::new(element)))
    }
}

/// The end of a ring that pops.
pub struct Consumer<T>(Ring<T>);

impl<T: Plain> Consumer<T> {
    /// Takes the oldest element, copied once; `None` if the ring is empty. A producer that sleeps is not woken: [`wake`](Consumer::wake) does that,
    /// once for many.
    ///
    /// # Errors
    /// [`RingError::Corrupted`] if the producer's index is impossible.
    pub fn pop(&mut self) -> Result<Option<Tainted<T>>, RingError> {
        self.0.pop()
    }

    /// Wakes the producer, if it sleeps for room.
    ///
    /// # Errors
    /// [`RingError::Grant`].
    pub fn wake(&self) -> Result<(), RingError> {
        self.0.wake(TAIL)
    }

    /// Takes the oldest element and wakes the producer, asleep while the ring is empty; `None` once `timeout` is over (none: never).
    ///
    /// # Errors
    /// As for [`pop`](Consumer::pop).
    pub fn receive(&mut self, timeout: Option<Duration>) -> Result<Option<Tainted<T>>, RingError> {
        self.0.until([HEAD, TAIL], timeout, Ring::pop)
    }

    /// Has an eventfd told when the producer pushes after [`arm`](Consumer::arm), or no longer: [`Region::notify`].
    ///
    /// # Errors
    /// [`GrantError::Event`].
    pub fn notify(&self, event: Option<BorrowedFd<'_>>) -> Result<(), RingError> {
        Ok(self.0.region.notify(self.0.at + HEAD + SLEEPS, event)?)
    }

    /// Has the producer tell when it next pushes, by a wake. False if there is something already. To wait by a descriptor: pop until there is nothing, arm,
    /// wait if that says true, read the descriptor, and begin again.
    ///
    /// # Errors
    /// As for [`pop`](Consumer::pop).
    pub fn arm(&self) -> Result<bool, RingError> {
        self.0.arm(HEAD)?;
        Ok(self.0.filled(TAIL, |head, tail| tail.wrapping_sub(head))? == 0)
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
