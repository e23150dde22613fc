//! What a program describes in several calls, before it is used: principals, exports and requests.
use crate::call::guarded;
use crate::error::Failure;
use crate::handle::{Handle, Handled};
use std::sync::{Mutex, PoisonError};

/// A description, as it is so far.
pub struct Described<T>(Mutex<T>);

impl<T> Described<T> {
    pub(crate) fn new(first: T) -> Described<T> {
        Described(Mutex::new(first))
    }
}

impl<T: Clone> Handle<Described<T>>
where
    Described<T>: Handled,
{
    /// The description as it is now.
    pub(crate) fn described(self) -> Result<T, Failure> {
        let object = self.get()?;
        let _still = lockgate::still();
        Ok(object.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Replaces the description. If `change` fails, it stays as it was.
    pub(crate) fn change(self, change: impl FnOnce(T) -> Result<T, Failure>) -> i32 {
        guarded(|| {
            let object = self.get()?;
            let _still = lockgate::still();
            let mut place = object.0.lock().unwrap_or_else(PoisonError::into_inner);
            *place = change(place.clone())?;
            Ok(())
        })
    }
}
