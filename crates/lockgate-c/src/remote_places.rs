//! Which functions of other processes have pointers: each has a place of a fixed number.
use crate::error::{Failure, Status};
use lockgate::signature::{Place, Plan};
use lockgate_programs::share::RemoteFunction;
use std::sync::{Arc, PoisonError, RwLock, Weak};

/// Pointers that a process can have at once.
pub(crate) const POINTERS: usize = 256;

/// A function that has a pointer.
pub(crate) struct Pointed {
    pub function: RemoteFunction,
    pub plan: Plan,
    /// Of [`PLACES`].
    place: usize,
}

/// Functions by their places. As for the table of handles: a child has its parent's, and the lock is held only while no thread can fork.
static PLACES: RwLock<[Option<Weak<Pointed>>; POINTERS]> = RwLock::new([const { None }; POINTERS]);

impl Pointed {
    /// Gives a function a place.
    ///
    /// # Errors
    /// [`Status::NoPointers`]; [`Status::Prototype`] if its result is none that a register has.
    fn new(function: &RemoteFunction) -> Result<Arc<Pointed>, Failure> {
        let plan = Plan::new(function.signature()).map_err(|what| Failure::new(Status::Prototype, what))?;
        if plan.result == Place::Memory {
            let what =
                format!("{}: its result travels in memory: use lg_remote_call()", function.signature());
            return Err(Failure::new(Status::Prototype, what));
        }
        let mut places = PLACES.write().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = places.iter().position(Option::is_none) else {
            let what = format!(
                "a process has at most {POINTERS} pointers to functions of other processes: free functions that you do not need"
            );
            return Err(Failure::new(Status::NoPointers, what));
        };
        let pointed = Arc::new(Pointed { function: function.clone(), plan, place });
        places[place] = Some(Arc::downgrade(&pointed));
        Ok(pointed)
    }

    /// The function that has this place.
    ///
    /// # Errors
    /// [`Status::Gone`].
    pub fn at(place: usize) -> Result<Arc<Pointed>, Failure> {
        let _still = lockgate::still();
        let places = PLACES.read().unwrap_or_else(PoisonError::into_inner);
        places.get(place).and_then(Option::as_ref).and_then(Weak::upgrade).ok_or_else(|| {
            Failure::new(
                Status::Gone,
                "the function was freed, and is called through the pointer that it had",
            )
        })
    }
}

impl Drop for Pointed {
    fn drop(&mut self) {
        let _still = lockgate::still();
        PLACES.write().unwrap_or_else(PoisonError::into_inner)[self.place] = None;
    }
}

/// Whether a function has a pointer: from when it is first asked for.
#[derive(Default)]
pub(crate) struct Pointer(RwLock<Option<Arc<Pointed>>>);

impl Pointer {
    /// The function's place.
    ///
    /// # Errors
    /// There is none for it.
    pub fn place(&self, function: &RemoteFunction) -> Result<usize, Failure> {
        let _still = lockgate::still();
        let mut own = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let pointed = match own.take() {
            Some(pointed) => pointed,
            None => Pointed::new(function)?,
        };
        Ok(own.insert(pointed).place)
    }
}
