//! Rings in shared memory.
#[path = "../../../crates/lockgate/src/grant/ring.rs"]
mod ring;

use crate::sync::futex;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
#[error("outside of the region")]
pub(crate) enum GrantError {
    Range { at: u64, size: u64, length: u64 },
}

#[derive(Debug, thiserror::Error)]
#[error("a broken ring")]
pub(crate) enum RingError {
    Corrupted { claimed: u32, capacity: u32 },
    Capacity(u32),
    NoElement,
    Grant(#[from] GrantError),
}

/// Elements of the model's ring.
const CAPACITY: u32 = 2;
/// Bytes before the first element.
const ELEMENTS: u64 = 128;

/// Memory with both indices and the elements of one ring.
#[derive(Clone)]
pub(crate) struct Region(Arc<Memory>);

pub(crate) struct Memory {
    /// Of the consumer and of the producer: index, and whether it sleeps.
    sides: [[AtomicU32; 2]; 2],
    /// Loom tells of two threads that are at one element.
    elements: [UnsafeCell<u64>; CAPACITY as usize],
}

// SAFETY: the elements are what the model is about.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Region {
    pub(crate) fn length(&self) -> u64 {
        ELEMENTS + u64::from(CAPACITY) * 8
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.0
    }

    pub(crate) fn wait(&self, at: u64, value: u32, timeout: Option<Duration>) -> Result<bool, GrantError> {
        let left = timeout.map(|left| futex::Timespec::try_from(left).expect("a time"));
        Ok(futex::wait(self.0.word(at), futex::Flags::PRIVATE, value, left.as_ref()).is_ok())
    }

    pub(crate) fn wake(&self, at: u64) -> Result<usize, GrantError> {
        Ok(futex::wake(self.0.word(at), futex::Flags::PRIVATE, i32::MAX as u32).expect("it cannot fail"))
    }

    pub(crate) fn notify(&self, _: u64, _: Option<BorrowedFd<'_>>) -> Result<(), GrantError> {
        Ok(())
    }
}

impl Memory {
    /// `lockgate_load` of `copy_asm.rs`: a plain `mov`, which x86 lets no later access overtake.
    pub(crate) fn load(&self, at: u64) -> Result<u32, GrantError> {
        Ok(self.word(at).load(Ordering::Acquire))
    }

    /// `lockgate_store` of `copy_asm.rs`: a plain `mov`, which overtakes no earlier access.
    pub(crate) fn store(&self, at: u64, word: u32) -> Result<(), GrantError> {
        self.word(at).store(word, Ordering::Release);
        Ok(())
    }

    fn word(&self, at: u64) -> &AtomicU32 {
        &self.sides[at as usize / 64][at as usize % 64 / 4]
    }

    pub(crate) fn write(&self, at: u64, words: &[u64]) -> Result<(), GrantError> {
        // SAFETY: loom checks that nobody else is here.
        self.element(at).with_mut(|element| unsafe { *element = words[0] });
        Ok(())
    }

    pub(crate) fn read(&self, at: u64, words: &mut [u64]) -> Result<(), GrantError> {
        // SAFETY: as above.
        words[0] = self.element(at).with(|element| unsafe { *element });
        Ok(())
    }

    fn element(&self, at: u64) -> &UnsafeCell<u64> {
        &self.elements[(at - ELEMENTS) as usize / 8]
    }
}

fn fresh() -> Region {
    let side = || [AtomicU32::new(0), AtomicU32::new(0)];
    let elements = [UnsafeCell::new(0), UnsafeCell::new(0)];
    Region(Arc::new(Memory { sides: [side(), side()], elements }))
}

/// No side sleeps for what has come: loom calls that a deadlock.
#[test]
fn no_wake_is_lost() {
    crate::explore(3, || {
        let region = fresh();
        let ring = || ring::Ring::<u64>::open(&region, 0, CAPACITY).expect("it fits");
        let (mut producer, mut consumer) = (ring().producer(), ring().consumer());
        let sends = loom::thread::spawn(move || {
            (1..=3).for_each(|n| assert!(producer.send(&n, None).expect("an honest consumer")));
        });
        for expected in 1..=3 {
            let element = consumer.receive(None).expect("an honest producer").expect("it has come");
            assert_eq!(element.0, expected);
        }
        sends.join().expect("no panic");
    });
}

/// Both ends at work: every element arrives once, in order, and is never written while it is read.
#[test]
fn elements_arrive_in_order() {
    crate::explore(3, || {
        let region = fresh();
        let ring = || ring::Ring::<u64>::open(&region, 0, CAPACITY).expect("it fits");
        let (mut producer, mut consumer) = (ring().producer(), ring().consumer());
        let pushed = loom::thread::spawn(move || {
            (1..=4).take_while(|n| producer.push(n).expect("an honest consumer")).count() as u64
        });
        let mut popped = 0;
        for _ in 0..4 {
            if let Some(element) = consumer.pop().expect("an honest producer") {
                popped += 1;
                assert_eq!(element.0, popped);
            }
        }
        let pushed = pushed.join().expect("no panic");
        while let Some(element) = consumer.pop().expect("an honest producer") {
            popped += 1;
            assert_eq!(element.0, popped);
        }
        assert_eq!(popped, pushed);
        assert!(pushed >= 2, "an empty ring has room for two");
    });
}
