//! Values that a domain made: not to be used before they are checked.
use std::fmt;

/// A value from a domain. It may be anything of its type; [`check`](Tainted::check) or
/// [`trust`](Tainted::trust) takes it out.
///
/// ```
/// # fn f(domain: &lockgate::Domain, at: lockgate::Pointer<usize>) -> Option<i32> {
/// let table = [1, 2, 3];
/// let index = domain.read(at).ok()?.check(|index| *index < table.len())?;
/// Some(table[index])
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # fn f(domain: &lockgate::Domain, at: lockgate::Pointer<usize>) -> i32 {
/// let table = [1, 2, 3];
/// table[domain.read(at).unwrap()] // not before it was checked
/// # }
/// ```
#[repr(transparent)]
#[derive(Clone, Copy)]
#[must_use]
pub struct Tainted<T>(T);

impl<T> Tainted<T> {
    pub(crate) const fn new(value: T) -> Self {
        Tainted(value)
    }

    /// The value, if it passes `test`.
    pub fn check(self, test: impl FnOnce(&T) -> bool) -> Option<T> {
        test(&self.0).then_some(self.0)
    }

    /// What `convert` makes of the value: it must handle every value of the type.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Tainted<U> {
        Tainted(convert(self.0))
    }

    /// The value as it is, where any value of the type is harmless; `why` says so to the reader.
    pub fn trust(self, why: &'static str) -> T {
        let _ = why;
        self.0
    }
}

impl<T> fmt::Debug for Tainted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tainted(..)")
    }
}
