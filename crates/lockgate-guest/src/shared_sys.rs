//! Memory of a grant.

use core::ffi::{c_int, c_long};
use core::marker::PhantomData;

/// Values of which every pattern of bits is one.
///
/// # Safety
/// It is so, and there is no padding.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($type:ty),*) => {$(
        // SAFETY: a number.
        unsafe impl Plain for $type {}
    )*};
}

plain!(u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64);

// SAFETY: as its elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// What a module wants to do with memory that is shared with it: `LG_PASS_READ` and `LG_PASS_READ_WRITE`.
#[derive(Clone, Copy)]
pub(crate) enum Use {
    Read = 1,
    ReadWrite = 3,
}

/// Whether the `size` bytes at `at` lie in memory that others share with the domain, in one piece, for this use. No allocation, stack or static of
/// the module's lies there, so Rust knows no reference to it. The answer is of now. If the memory is taken back later, an access ends its call,
/// or finds other shared memory, which has come there. Outside of a domain there is none: the kernel does not know the call.
pub(crate) fn is_shared(at: usize, size: usize, what: Use) -> bool {
    const IS_SHARED: c_long = 403;
    // SAFETY: an address is all that is asked for. (`errno` is the thread's own.)
    unsafe { syscall(IS_SHARED, at, size, what as c_int as c_long) == 0 }
}

/// Elements in memory that others may change at any time: of a grant of the host's (`Grant::pointer`), or of memory that it lends. Values are
/// copied, and there are no references. Where the host has taken the memory back, an access ends its call; so does writing without the right
/// to.
#[derive(Debug)]
pub struct Shared<T> {
    at: *mut T,
    length: usize,
    elements: PhantomData<T>,
}

// SAFETY: nothing is kept but the place, and each access is good for itself.
unsafe impl<T: Plain + Send> Send for Shared<T> {}

impl<T: Plain> Shared<T> {
    /// The `length` elements at `at`, the address that the host gave. None unless they lie in memory that is shared with the domain, in one
    /// piece, and `at` is aligned.
    pub fn granted(at: *mut T, length: usize) -> Option<Shared<T>> {
        let size = length.checked_mul(size_of::<T>())?;
        let is_good = at.is_aligned() && is_shared(at.addr(), size, Use::Read);
        is_good.then_some(Shared { at, length, elements: PhantomData })
    }

    /// The `length` elements at `at`, wherever that is.
    ///
    /// # Safety
    /// They lie in memory of a grant, or in other memory that no reference points to, and `at` is aligned. Writing needs a grant for
    /// that.
    pub unsafe fn new(at: *mut T, length: usize) -> Shared<T> {
        Shared { at, length, elements: PhantomData }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// A copy of an element. None behind the end.
    pub fn get(&self, index: usize) -> Option<T> {
        // SAFETY: inside, by `new` or `granted`; volatile, because others write.
        (index < self.length).then(|| unsafe { self.at.add(index).read_volatile() })
    }

    /// Writes an element. False behind the end.
    pub fn set(&self, index: usize, value: T) -> bool {
        if index >= self.length {
            return false;
        }
        // SAFETY: as in `get`.
        unsafe { self.at.add(index).write_volatile(value) };
        true
    }

    /// Copies the elements from `start` on. False, and nothing done, if there are not so many.
    pub fn copy_to(&self, start: usize, into: &mut [T]) -> bool {
        if !self.has(start, into.len()) {
            return false;
        }
        for (number, value) in into.iter_mut().enumerate() {
            // SAFETY: as in `get`.
            *value = unsafe { self.at.add(start + number).read_volatile() };
        }
        true
    }

    /// Writes elements from `start` on. False, and nothing done, if there is no room.
    pub fn copy_from(&self, start: usize, values: &[T]) -> bool {
        if !self.has(start, values.len()) {
            return false;
        }
        for (number, value) in values.iter().enumerate() {
            // SAFETY: as in `get`.
            unsafe { self.at.add(start + number).write_volatile(*value) };
        }
        true
    }

    fn has(&self, start: usize, count: usize) -> bool {
        start.checked_add(count).is_some_and(|end| end <= self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::Shared;

    /// There are no grants outside of a domain, wherever memory lies.
    #[test]
    fn no_memory_of_a_host_is_granted() {
        let mut memory = [0u32; 4];
        assert!(Shared::granted(memory.as_mut_ptr(), 4).is_none());
        assert!(Shared::granted(0x8000_0000 as *mut u32, 4).is_none());
        assert!(Shared::granted(0x8000_0000 as *mut u64, usize::MAX).is_none());
    }

    #[test]
    fn nothing_beyond_the_end() {
        let mut memory = [1u32, 2, 3, 4];
        // SAFETY: memory of the test's own, which is used through it alone.
        let shared = unsafe { Shared::new(memory.as_mut_ptr(), 3) };
        let mut copy = [0; 2];
        assert_eq!((shared.get(2), shared.get(3)), (Some(3), None));
        assert!(shared.copy_to(1, &mut copy) && copy == [2, 3]);
        assert!(!shared.copy_to(2, &mut copy) && !shared.copy_to(usize::MAX, &mut copy));
        assert!(
            shared.set(0, 9)
                && !shared.set(3, 9)
                && shared.copy_from(1, &[7, 8])
                && !shared.copy_from(2, &[7, 8])
        );
        assert_eq!(memory, [9, 7, 8, 4]);
    }
}
