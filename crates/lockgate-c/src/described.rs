//! What a program describes in several calls, before it is used: principals, exports and requests.
use crate::call::guarded;
use crate::error::Failure;
use crate::handle::{Handle, Handled};
use lockgate_kernel::locked;
use std::sync::Mutex;

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
        Ok(locked(&object.0).clone())
    }

    /// Replaces the description. If `change` fails, it stays as it was.
    pub(crate) fn change(self, change: impl FnOnce(T) -> Result<T, Failure>) -> i32 {
        guarded(|| {
            let object = self.get()?;
            let _still = lockgate::still();
            let mut place = locked(&object.0);
            *place = change(place.clone())?;
            Ok(())
        })
    }
}
