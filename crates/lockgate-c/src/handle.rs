//! Handles: what a program in C holds of the library's objects.
//!
//! A handle is a number that looks like a pointer and is none: a place in one table, and how often the place has been used. So a handle that
//! was freed, one of another kind and one that never was are found out, and nothing is ever read through any of them. The top
//! bit is set, which makes it an address that no processor accepts.
use crate::error::{Failure, Status};
use std::any::Any;
use std::ffi::c_void;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError, RwLock};

/// Something that has handles.
pub(crate) trait Handled: Any + Send + Sync {
    /// What error messages call it.
    const WHAT: &'static str;
}

/// A handle as it comes from the program; it may be anything.
#[repr(transparent)]
pub struct Handle<T> {
    bits: *mut c_void,
    kind: PhantomData<fn(T) -> T>,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

struct Slot {
    /// How often the place has been used so far, from [`Table::first`] on.
    generation: u32,
    object: Option<Arc<dyn Any + Send + Sync>>,
}

struct Table {
    slots: Vec<Slot>,
    /// Places without an object.
    free: Vec<u32>,
    /// What places begin to count from: a number of this copy of the library, so that another copy in the process does not take its handles
    /// for its own.
    first: Option<u32>,
}

/// A forked child has its parent's handles: the lock is held only while no thread can fork ([`lockgate::still`]), as the locks of the
/// objects are that children may use.
static TABLE: RwLock<Table> = RwLock::new(Table { slots: Vec::new(), free: Vec::new(), first: None });

const MARK: u64 = 1 << 63;
const GENERATIONS: u32 = 1 << 31;

/// By chance, and low enough for all places to be used often.
fn any_generation() -> u32 {
    RandomState::new().build_hasher().finish() as u32 % (GENERATIONS / 2)
}

impl<T: Handled> Handle<T> {
    /// No handle.
    pub const NULL: Self = Handle::from_bits(std::ptr::null_mut());

    /// What is no handle, nor `NULL`: every function refuses it.
    pub const REFUSED: Self = Handle::constant(0xf);

    /// A constant of the header: a small number, which [`MARK`] tells from every handle that is made.
    pub const fn constant(number: usize) -> Self {
        Handle::from_bits(std::ptr::without_provenance_mut(number))
    }

    pub const fn from_bits(bits: *mut c_void) -> Self {
        Handle { bits, kind: PhantomData }
    }

    pub fn bits(self) -> usize {
        self.bits as usize
    }

    pub fn is_null(self) -> bool {
        self.bits.is_null()
    }

    /// A new handle of `object`.
    pub fn new(object: T) -> Self {
        let object: Arc<dyn Any + Send + Sync> = Arc::new(object);
        let _still = lockgate::still();
        let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
        let index = table.free.pop().unwrap_or_else(|| {
            let generation = *table.first.get_or_insert_with(any_generation);
            table.slots.push(Slot { generation, object: None });
            (table.slots.len() - 1) as u32
        });
        let slot = &mut table.slots[index as usize];
        slot.object = Some(object);
        let bits = MARK | u64::from(slot.generation) << 32 | u64::from(index);
        Handle::from_bits(bits as usize as *mut c_void)
    }

    /// The object.
    ///
    /// # Errors
    /// [`Status::Handle`].
    pub fn get(self) -> Result<Arc<T>, Failure> {
        let _still = lockgate::still();
        let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
        let object = self.place(&table)?;
        let object = table.slots[object].object.clone().ok_or_else(Self::stale)?;
        object.downcast().map_err(|_| Self::wrong())
    }

    /// The object; the handle is no handle any more. Threads that are using the object go on.
    ///
    /// # Errors
    /// [`Status::Handle`].
    pub fn take(self) -> Result<Arc<T>, Failure> {
        let _still = lockgate::still();
        let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
        let index = self.place(&table)?;
        let slot = &mut table.slots[index];
        let object = slot.object.take().ok_or_else(Self::stale)?;
        match object.downcast() {
            Ok(object) => {
                slot.generation += 1;
                // A place is given up before a number comes again.
                if slot.generation < GENERATIONS {
                    table.free.push(index as u32);
                }
                Ok(object)
            }
            Err(object) => {
                slot.object = Some(object);
                Err(Self::wrong())
            }
        }
    }

    fn place(self, table: &Table) -> Result<usize, Failure> {
        if self.is_null() {
            return Err(Failure::new(
                Status::Handle,
                format!("this function needs {}, and got NULL", T::WHAT),
            ));
        }
        let bits = self.bits as u64;
        if bits <= Self::REFUSED.bits as u64 {
            return Err(Failure::new(
                Status::Handle,
                format!(
                    "this function needs {} that the program has made, and got a constant of the header: LG_CALLER and its like stand for objects that the program has not made, and only where the header says so",
                    T::WHAT
                ),
            ));
        }
        let (index, generation) = ((bits & 0xffff_ffff) as usize, (bits & !MARK) >> 32);
        match table.slots.get(index) {
            Some(slot) if bits & MARK != 0 && u64::from(slot.generation) == generation => Ok(index),
            _ => Err(Self::stale()),
        }
    }

    fn stale() -> Failure {
        let what = T::WHAT;
        Failure::new(
            Status::Handle,
            format!("this is not the handle of {what}: it was freed, or was never one"),
        )
    }

    fn wrong() -> Failure {
        Failure::new(
            Status::Handle,
            format!("this function needs {}, and got the handle of something else", T::WHAT),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Apple(u32);
    struct Pear;

    impl Handled for Apple {
        const WHAT: &'static str = "an apple";
    }

    impl Handled for Pear {
        const WHAT: &'static str = "a pear";
    }

    fn message<T>(result: Result<Arc<T>, Failure>) -> String {
        result.err().map(|failure| failure.message).unwrap_or_default()
    }

    /// Another copy of the library in the process counts from another number. Red if all copies count from 0.
    #[test]
    fn copies_of_the_library_count_from_numbers_of_their_own() {
        let numbers: std::collections::HashSet<u32> = (0..100).map(|_| any_generation()).collect();
        assert!(numbers.len() > 90 && numbers.iter().all(|&number| number < GENERATIONS / 2));
        let handle = Handle::new(Apple(1));
        let first = TABLE.read().unwrap().first.expect("a handle was made");
        assert!((handle.bits as u64 & !MARK) >> 32 >= u64::from(first));
    }

    #[test]
    fn only_the_living_handle_of_the_right_kind_leads_anywhere() {
        let apple = Handle::new(Apple(7));
        assert_eq!(apple.get().ok().map(|apple| apple.0), Some(7));
        let as_pear = Handle::<Pear>::from_bits(apple.bits);
        assert!(message(as_pear.get()).contains("needs a pear"));
        assert!(message(as_pear.take()).contains("needs a pear"), "and the apple stays");
        assert!(apple.take().is_ok());
        assert!(message(apple.get()).contains("was freed"));
        assert!(message(apple.take()).contains("was freed"));
        let next: Vec<_> = (0..100).map(|number| Handle::new(Apple(number))).collect();
        assert!(message(apple.get()).contains("was freed"), "whatever has the place now");
        for handle in next {
            assert_ne!(handle.bits, apple.bits);
            assert!(handle.take().is_ok());
        }
        assert!(message(Handle::<Apple>::NULL.get()).contains("got NULL"));
        for bits in [1, 0x7fff_0000_1234, usize::MAX, 1 << 63 | 0xffff_ffff] {
            assert!(Handle::<Apple>::from_bits(bits as *mut c_void).get().is_err(), "{bits:#x}");
        }
    }
}
