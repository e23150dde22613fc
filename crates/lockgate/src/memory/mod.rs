//! Values that cross the boundary: plain data, pointers of domains, and what must be checked first.
mod c_sys;
mod copy_sys;
mod plain_sys;
mod tainted;

pub use c_sys::{Argument, Member, Returned};
pub use copy_sys::copy;
pub use plain_sys::Plain;
pub use tainted::Tainted;

use crate::signature::Type;
use std::fmt;
use std::marker::PhantomData;

/// A pointer of a domain: an address in its window, for the module to use. The host goes through
/// [`Domain::read`](crate::Domain::read) and [`Domain::write`](crate::Domain::write).
///
/// ```compile_fail,E0614
/// # fn f(pointer: lockgate::Pointer<u32>) -> u32 {
/// *pointer // a domain's pointer is no pointer of the host
/// # }
/// ```
#[repr(transparent)]
pub struct Pointer<T> {
    address: u64,
    kind: PhantomData<fn(T) -> T>,
}

impl<T> Pointer<T> {
    /// The null pointer.
    pub const NULL: Self = Pointer::from_address(0);

    /// The pointer with this address: `Domain::base` plus an offset.
    pub const fn from_address(address: u64) -> Self {
        Pointer { address, kind: PhantomData }
    }

    /// The address, as the module sees it.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Offset in the window: what the module's accesses use of it.
    pub const fn offset(self) -> u64 {
        self.address & 0xffff_ffff
    }

    /// True for the null pointer, in either spelling.
    pub const fn is_null(self) -> bool {
        self.offset() == 0
    }

    /// The pointer to another type of the same place.
    pub const fn cast<U>(self) -> Pointer<U> {
        Pointer::from_address(self.address)
    }

    /// The pointer `count` values further, within the window.
    pub const fn add(self, count: u64) -> Self {
        let offset = self.offset().wrapping_add(count.wrapping_mul(size_of::<T>() as u64)) & 0xffff_ffff;
        Pointer::from_address(self.address & !0xffff_ffff | offset)
    }
}

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pointer<T> {}

impl<T> PartialEq for Pointer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for Pointer<T> {}

impl<T> fmt::Debug for Pointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pointer({:#x})", self.address)
    }
}

/// A type of C that has the same bits in Rust, whatever the bits are.
pub(crate) fn integer<T>(signed: bool) -> Type {
    Type::Integer { bytes: size_of::<T>() as u8, signed }
}
