//! What a domain has open, by number, for calls that take no lock and that a handler of the host's may leave by a jump: quick calls.
//!
//! The table of descriptors keeps it, under its lock: what that holds is shown here, and hidden when it is closed. Who uses a description
//! meanwhile goes on, as on Linux, and the last of them leaves it to be dropped.
use super::counted_sys::{Counted, Use};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Numbers, or places, are made so many at a time.
const PART: usize = 64;

type Parts<T> = Box<[OnceLock<Box<[T; PART]>>]>;

/// What has which number.
#[derive(Debug)]
pub struct Lookup<T> {
    /// By number: one more than the index of its place, 0 if nothing is shown.
    numbers: Parts<AtomicU32>,
    places: Parts<Counted<T>>,
    books: Mutex<Books>,
}

/// What came of looking a number up.
#[derive(Debug, Clone, Copy)]
pub struct Looked<R> {
    /// Of the description, if there is one.
    pub result: Option<R>,
    /// It was hidden meanwhile, and no other thread uses it.
    pub left: Option<Left>,
}

/// A description that was closed while a call used it, and has to be dropped by that ([`Lookup::reap`]).
#[derive(Debug, Clone, Copy)]
pub struct Left(u32);

/// Which places are free. (One that a jump has left in use never is again.)
#[derive(Debug, Default)]
struct Books {
    free: Vec<u32>,
    next: u32,
}

fn parts<T>(count: usize) -> Parts<T> {
    (0..count.div_ceil(PART)).map(|_| OnceLock::new()).collect()
}

/// What is at `index`, if it was made.
fn at<T>(parts: &Parts<T>, index: usize) -> Option<&T> {
    parts.get(index / PART)?.get().map(|part| &part[index % PART])
}

/// The same; it is made if there may be one.
fn made<T: Default>(parts: &Parts<T>, index: usize) -> Option<&T> {
    let new = || Box::new(std::array::from_fn(|_| T::default()));
    parts.get(index / PART).map(|part| &part.get_or_init(new)[index % PART])
}

impl<T: Clone> Lookup<T> {
    /// For numbers below `limit`; none where it is negative.
    pub fn new(limit: i32) -> Self {
        let limit = usize::try_from(limit).unwrap_or(0);
        Lookup { numbers: parts(limit), places: parts(2 * limit), books: Mutex::default() }
    }

    /// Shows `description` at `number`, where nothing is shown. (Where there is no room for it, calls take the lock.)
    pub fn show(&self, number: i32, description: &T) {
        let Ok(index) = usize::try_from(number) else { return };
        let Some(shown) = made(&self.numbers, index) else { return };
        let mut books = self.books();
        let place = books.free.pop().unwrap_or(books.next);
        if place as usize >= self.places.len() * PART {
            return;
        }
        books.next = books.next.max(place + 1);
        drop(books);
        let filled = made(&self.places, place as usize).map(|own| own.fill(description.clone()));
        if let Some(Ok(())) = filled {
            shown.store(place + 1, Ordering::Release);
        }
    }

    /// Shows nothing at `number`. Who calls has the description, too: nothing is dropped here.
    pub fn hide(&self, number: i32) {
        let shown = usize::try_from(number).ok().and_then(|index| at(&self.numbers, index));
        let place = shown.map_or(0, |shown| shown.swap(0, Ordering::AcqRel));
        if place > 0 && at(&self.places, place as usize - 1).and_then(Counted::close).is_some() {
            self.books().free.push(place - 1);
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `used` with the description that `number` names. Nothing is locked, allocated or dropped.
    pub fn with<R: Copy>(&self, number: i32, used: impl FnOnce(&T) -> R) -> Looked<R> {
        let nothing = Looked { result: None, left: None };
        let shown = usize::try_from(number).ok().and_then(|index| at(&self.numbers, index));
        let Some(shown) = shown else { return nothing };
        let Some(place) = shown.load(Ordering::Acquire).checked_sub(1) else { return nothing };
        let Some(counted) = at(&self.places, place as usize) else { return nothing };
        // (The place may have been given to another number before it was ours.)
        let is_ours = || shown.load(Ordering::Acquire) == place + 1;
        match counted.with(|description| if is_ours() { Some(used(description)) } else { None }) {
            Use::Gone => nothing,
            Use::Done(result) => Looked { result, left: None },
            Use::Last(result) => Looked { result, left: Some(Left(place)) },
        }
    }

    /// Drops what its last user has left in a place.
    pub fn reap(&self, Left(place): Left) {
        let left = at(&self.places, place as usize).and_then(Counted::reap);
        if left.is_some() {
            self.books().free.push(place);
        }
    }
}
