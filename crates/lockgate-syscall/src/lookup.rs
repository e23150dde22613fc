//! The descriptions that a domain has open, by number, for calls that take no lock and that a handler of the host's may leave by a jump:
//! [`quick`](super::calls::quick) calls.
//!
//! [`Descriptors`](super::descriptors::Descriptors) keep it, under their lock: what they hold is shown here, and hidden when it is closed. Who
//! uses a description meanwhile goes on, as on Linux, and the last of them leaves it to be dropped.
use super::descriptors::Description;
use super::locked::locked;
use lockgate_kernel::{Counted, Use};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Numbers, or places, are made so many at a time.
const PART: usize = 64;

type Parts<T> = Box<[OnceLock<Box<[T; PART]>>]>;

#[derive(Debug)]
pub(super) struct Lookup {
    /// By number: one more than the index of its place, 0 if nothing is shown.
    numbers: Parts<AtomicU32>,
    places: Parts<Counted<Arc<Description>>>,
    books: Mutex<Books>,
}

/// What came of looking a number up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked<R> {
    /// Of the description, if there is one.
    pub(super) result: Option<R>,
    /// A place that was closed meanwhile and that nobody else uses: [`Lookup::reap`] has to be called for it.
    pub(super) left: Option<u32>,
}

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

impl Lookup {
    /// For numbers below `limit`.
    pub(super) fn new(limit: i32) -> Lookup {
        let limit = usize::try_from(limit).unwrap_or(0);
        Lookup { numbers: parts(limit), places: parts(2 * limit), books: Mutex::default() }
    }

    /// Shows `description` at `number`, where nothing is shown. (Where there is no room for it, calls take the lock.)
    pub(super) fn show(&self, number: i32, description: &Arc<Description>) {
        let Ok(index) = usize::try_from(number) else { return };
        let Some(shown) = made(&self.numbers, index) else { return };
        let mut books = locked(&self.books);
        let place = books.free.pop().unwrap_or_else(|| {
            books.next += 1;
            books.next - 1
        });
        drop(books);
        let filled = made(&self.places, place as usize).map(|own| own.fill(Arc::clone(description)));
        if let Some(Ok(())) = filled {
            shown.store(place + 1, Ordering::Release);
        }
    }

    /// Shows nothing at `number`. Who calls has the description, too: nothing is dropped here.
    pub(super) fn hide(&self, number: i32) {
        let shown = usize::try_from(number).ok().and_then(|index| at(&self.numbers, index));
        let place = shown.map_or(0, |shown| shown.swap(0, Ordering::AcqRel));
        if place > 0 && at(&self.places, place as usize - 1).and_then(Counted::close).is_some() {
            locked(&self.books).free.push(place - 1);
        }
    }

    /// Runs `used` with the description that `number` names. Nothing is locked, allocated or dropped.
    pub(super) fn with<R: Copy>(&self, number: i32, used: impl FnOnce(&Description) -> R) -> Looked<R> {
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
            Use::Last(result) => Looked { result, left: Some(place) },
        }
    }

    /// Drops what its last user has left in a place.
    pub(super) fn reap(&self, place: u32) {
        let left = at(&self.places, place as usize).and_then(Counted::reap);
        if left.is_some() {
            locked(&self.books).free.push(place);
        }
    }
}
