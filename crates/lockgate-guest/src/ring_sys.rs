//! One end of a queue in a shared region: `lockgate_ring.h` in Rust.

use crate::Plain;
use crate::shared_sys::{Use, is_shared};
use core::ffi::{c_int, c_long};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering, fence};
use core::time::Duration;

/// Behind an index: where its side sleeps, 1 if it does, or is about to.
const SLEEPS: usize = 4;

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
/// Elements are copied. [`push`](Ring::push) and [`pop`](Ring::pop) never wait, and wake no thread; [`send`](Ring::send) and
/// [`receive`](Ring::receive) do both.
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
    /// One end of a fresh ring of so many elements at `at`, the address that the host gave. None unless the ring lies in memory that is shared
    /// with the domain for reading and writing, in one piece, and the capacity is a power of two, and `at` a multiple of 64.
    pub fn granted(at: *mut u8, capacity: u32) -> Option<Ring<T>> {
        let elements = size_of::<T>().checked_mul(usize::try_from(capacity).ok()?)?;
        let is_good = is_shared(at.addr(), elements.checked_add(2 * LINE)?, Use::ReadWrite);
        if is_good { Ring::at(at, capacity) } else { None }
    }

    /// One end of a fresh ring. None if the capacity is not a power of two, or `at` no multiple of 64.
    ///
    /// # Safety
    /// The ring lies at `at`, in memory of a grant for reading and writing, and has so many elements of this size.
    pub unsafe fn new(at: *mut u8, capacity: u32) -> Option<Ring<T>> {
        Ring::at(at, capacity)
    }

    fn at(at: *mut u8, capacity: u32) -> Option<Ring<T>> {
        // (Then elements are aligned, too.)
        let is_aligned = at.addr().is_multiple_of(LINE) && align_of::<T>() <= LINE;
        (is_aligned && capacity.is_power_of_two()).then_some(Ring {
            at,
            capacity,
            index: 0,
            elements: PhantomData,
        })
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
        // SAFETY: an element of the ring, by `new` or `granted`; volatile, because others look at any time, or write.
        unsafe { self.element().write_volatile(*element) };
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
        let element = unsafe { self.element().read_volatile() };
        self.index = self.index.wrapping_add(1);
        self.word(0).store(self.index, Ordering::Release);
        Ok(Some(element))
    }

    /// Adds an element and wakes the consumer, asleep while the ring is full. False once `timeout` is over (none: never).
    ///
    /// # Errors
    /// [`Corrupted`].
    pub fn send(&mut self, element: &T, timeout: Option<Duration>) -> Result<bool, Corrupted> {
        Ok(self.until([LINE, 0], timeout, |ring| Ok(ring.push(element)?.then_some(())))?.is_some())
    }

    /// Takes the oldest element and wakes the producer, asleep while the ring is empty. None once `timeout` is over (none: never).
    ///
    /// # Errors
    /// [`Corrupted`].
    pub fn receive(&mut self, timeout: Option<Duration>) -> Result<Option<T>, Corrupted> {
        self.until([0, LINE], timeout, Ring::pop)
    }

    /// Wakes the consumer, if it sleeps for what was pushed.
    pub fn wake_consumer(&self) {
        self.wake(0);
    }

    /// Wakes the producer, if it sleeps for the room that was made.
    pub fn wake_producer(&self) {
        self.wake(LINE);
    }

    /// Attempts something until it succeeds, asleep in between.
    fn until<R>(
        &mut self,
        [own, other]: [usize; 2],
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut Self) -> Result<Option<R>, Corrupted>,
    ) -> Result<Option<R>, Corrupted> {
        let (mut end, mut is_armed) = (None, false);
        loop {
            if let Some(result) = attempt(self)? {
                self.wake(other);
                return Ok(Some(result));
            }
            // (A time that no clock gets to is for ever.)
            let end = *end.get_or_insert_with(|| timeout.and_then(|timeout| now().checked_add(timeout)));
            if end.is_some_and(|end| now() >= end) {
                return Ok(None);
            }
            let sleeps = self.word(own + SLEEPS);
            if is_armed {
                sleep(sleeps, 1, end);
            } else {
                sleeps.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
            }
            is_armed = !is_armed;
        }
    }

    /// Wakes the other side, with its index at `other`, if it sleeps.
    fn wake(&self, other: usize) {
        // Either the other side sees our index behind its word, or we see its word.
        fence(Ordering::SeqCst);
        let sleeps = self.word(other + SLEEPS);
        if sleeps.load(Ordering::Relaxed) != 0 {
            sleeps.store(0, Ordering::Relaxed);
            wake(sleeps);
        }
    }

    /// Index of the consumer, at 0, or of the producer, in the next line.
    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: in the ring, by `new` or `granted`, and both sides use it as an atomic word.
        unsafe { &*self.at.add(offset).cast::<AtomicU32>() }
    }

    fn element(&self) -> *mut T {
        let number = (self.index & (self.capacity - 1)) as usize;
        // SAFETY: in the ring, by `new` or `granted`.
        unsafe { self.at.add(2 * LINE + number * size_of::<T>()).cast::<T>() }
    }
}

/// The kernel's `struct timespec`.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// The time of `CLOCK_MONOTONIC`.
fn now() -> Duration {
    const CLOCK_GETTIME: c_long = 228;
    const MONOTONIC: c_long = 1;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: room for a time.
    unsafe { syscall(CLOCK_GETTIME, MONOTONIC, &raw mut time) };
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

const FUTEX: c_long = 202;

/// Sleeps while the word is `value`, until woken, or until `end`. Signals end it, too.
fn sleep(word: &AtomicU32, value: u32, end: Option<Duration>) {
    const WAIT_BITSET: c_int = 9;
    let end = end
        .filter(|end| i64::try_from(end.as_secs()).is_ok())
        .map(|end| Timespec { seconds: end.as_secs() as i64, nanoseconds: end.subsec_nanos().into() });
    let end = end.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    let nothing = core::ptr::null::<u32>();
    // SAFETY: the word and the time are there until it returns.
    unsafe { syscall(FUTEX, core::ptr::from_ref(word), WAIT_BITSET, value, end, nothing, u32::MAX) };
}

/// Wakes all that sleep there.
fn wake(word: &AtomicU32) {
    const WAKE: c_int = 1;
    // SAFETY: an address is all that is asked for.
    unsafe { syscall(FUTEX, core::ptr::from_ref(word), WAKE, c_int::MAX) };
}

#[cfg(test)]
mod tests {
    extern crate std;
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
        std::thread::scope(|scope| {
            scope.spawn(|| (0..10_000).for_each(|number| assert_eq!(producer.send(&number, None), Ok(true))));
            for number in 0..10_000 {
                assert_eq!(consumer.receive(None), Ok(Some(number)));
            }
        });
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| consumer.receive(Some(core::time::Duration::MAX)));
            std::thread::yield_now();
            assert_eq!(producer.send(&7, None), Ok(true));
            assert_eq!(waits.join().unwrap(), Ok(Some(7)));
        });
        let soon = Some(core::time::Duration::from_millis(1));
        assert_eq!(consumer.receive(soon), Ok(None));
        for number in 0..5 {
            assert_eq!(producer.send(&number, soon), Ok(number < 4));
        }
        // SAFETY: the same memory, which the other side may fill with anything.
        unsafe { at.add(64).cast::<u32>().write(1000) };
        assert_eq!(consumer.pop(), Err(Corrupted));
        // SAFETY: as above.
        assert!(unsafe { Ring::<u64>::new(at, 3) }.is_none());
    }
}
