//! Memory that two processes share for one call after the other: two rings, and the bytes of buffers behind them.
//!
//! Nothing that lies there is believed: rings and copies read each word once, into memory of this process's, and no access leaves the region or
//! faults, whatever the other process does with it.

use super::RemoteError;
use lockgate::grant::{Consumer, Producer, Ring, RingError};
use lockgate::{GrantError, Plain, Region, Rights, SharedSlice};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// What a client sends: the number of the call and the function, then the words of the arguments.
pub type Request = [u64; 1 + super::shape::WORDS];

/// What a server sends: the number of the call and a status, the length of what it says, then the words of the result.
pub type Answer = [u64; 2 + super::shape::RESULTS];

/// In place of a function: the client needs the memory no more.
pub const NO_MORE: u32 = u32::MAX;

/// A second place, so that a client can say so behind a call that it has given up.
const PLACES: u32 = 2;

const ANSWERS: u64 = 1024;

/// Where in a ring its consumer sleeps (`lockgate_ring.h`).
const SLEEPS: u64 = 4;

const BYTES: u64 = 4096;
const _: () = assert!(Ring::<Request>::size(PLACES) <= ANSWERS);
const _: () = assert!(ANSWERS + Ring::<Answer>::size(PLACES) <= BYTES);

/// Bytes of buffers that a client accepts memory for, and a server makes.
pub const MOST: u64 = 64 << 20;

/// What keeps the other one from making the file shorter, under what is mapped here.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// Tries of a wait that might soon be over, before the thread sleeps.
const TRIES: u32 = 4000;

/// Waits, after which a thread that has given up trying tries again.
const AGAIN: u32 = 64;

/// One end of it. `S` is sent from here, `R` received.
pub struct Line<S, R> {
    producer: Producer<S>,
    consumer: Consumer<R>,
    region: Region,
    /// Where in it this end sleeps.
    sleeps: u64,
    /// The bytes of buffers.
    pub bytes: SharedSlice<u8>,
    /// How often a wait tries before it sleeps: as often as that has helped.
    tries: u32,
    waits: u32,
    may_try: bool,
    calls: u32,
}

/// A number and another one in a word.
pub fn both(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

pub fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

impl<S: Plain, R: Plain> Line<S, R> {
    /// What the other end sends; waits for it, so long at most, and may come back without it before. (No clock is read here. The time is no option:
    /// one that has the memory moves a thread that sleeps there to another word by `FUTEX_REQUEUE`, and no wake finds it any more.)
    ///
    /// # Errors
    /// What the other end has made of the ring.
    pub fn receive(&mut self, left: Duration) -> Result<Option<R>, RingError> {
        self.waits = self.waits.wrapping_add(1);
        if self.may_try && self.waits.is_multiple_of(AGAIN) {
            self.tries = TRIES;
        }
        for _ in 0..self.tries {
            if let Some(received) = self.consumer.pop()? {
                self.tries = TRIES;
                return Ok(Some(received.trust("the caller judges it")));
            }
            std::hint::spin_loop();
        }
        // (The other end sleeps, too, or runs on this processor.)
        self.tries /= 2;
        if self.consumer.arm()? {
            self.region.wait(self.sleeps, 1, Some(left))?;
        }
        let received = self.consumer.pop()?;
        Ok(received.map(|received| received.trust("the caller judges it")))
    }

    /// Wakes the server's thread that waits here, for another one of the server's.
    pub fn waker(&self) -> impl Fn() + Send + use<S, R> {
        let (region, sleeps) = (self.region.clone(), self.sleeps);
        move || drop(region.wake(sleeps))
    }

    /// The number of the next call.
    pub fn next_number(&mut self) -> u32 {
        self.calls = self.calls.wrapping_add(1);
        self.calls
    }

    /// Sends.
    ///
    /// # Errors
    /// What the other end has made of the ring; [`RingError::Corrupted`], too, if it takes nothing out of it.
    pub fn send(&mut self, sent: &S) -> Result<(), RingError> {
        if !self.producer.push(sent)? {
            return Err(RingError::Corrupted { claimed: PLACES, capacity: PLACES });
        }
        self.producer.wake()
    }
}

fn bytes_of(region: &Region) -> Result<SharedSlice<u8>, GrantError> {
    region.slice(BYTES, region.length() - BYTES)
}

/// The server's end, in a file of its own with room for so many bytes of buffers.
///
/// # Errors
/// The kernel's, or no room for regions.
pub fn made(bytes: u64, may_try: bool) -> io::Result<(Line<Answer, Request>, OwnedFd)> {
    let file = memfd_create("lockgate-line", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let length = BYTES + bytes.clamp(1, MOST).next_multiple_of(4096);
    ftruncate(&file, length)?;
    fcntl_add_seals(&file, SEALS | SealFlags::SEAL)?;
    let region = Region::from_file(&file, 0, length, Rights::ReadWrite).map_err(io::Error::other)?;
    let line = Line {
        consumer: Ring::new(&region, 0, PLACES).map_err(io::Error::other)?.consumer(),
        producer: Ring::new(&region, ANSWERS, PLACES).map_err(io::Error::other)?.producer(),
        bytes: bytes_of(&region).map_err(io::Error::other)?,
        region,
        sleeps: SLEEPS,
        tries: if may_try { TRIES } else { 0 },
        waits: 0,
        may_try,
        calls: 0,
    };
    Ok((line, file))
}

/// The client's end, in a file that a server has sent.
///
/// # Errors
/// [`RemoteError::Nonsense`]: it is none of those that [`made`] makes.
pub fn opened(file: &OwnedFd, may_try: bool) -> Result<Line<Request, Answer>, RemoteError> {
    let wrong = || RemoteError::Nonsense("it sent memory of another kind, or of another size");
    let seals = fcntl_get_seals(file.as_fd()).map_err(|_| wrong())?;
    let length = u64::try_from(fstat(file).map_err(|_| wrong())?.st_size).map_err(|_| wrong())?;
    let fits = length > BYTES && length <= BYTES + MOST && length.is_multiple_of(4096);
    if !seals.contains(SEALS) || !fits {
        return Err(wrong());
    }
    let region = Region::from_file(file, 0, length, Rights::ReadWrite).map_err(|_| wrong())?;
    Ok(Line {
        producer: Ring::open(&region, 0, PLACES).map_err(|_| wrong())?.producer(),
        consumer: Ring::open(&region, ANSWERS, PLACES).map_err(|_| wrong())?.consumer(),
        bytes: bytes_of(&region).map_err(|_| wrong())?,
        region,
        sleeps: ANSWERS + SLEEPS,
        tries: if may_try { TRIES } else { 0 },
        waits: 0,
        may_try,
        calls: 0,
    })
}
