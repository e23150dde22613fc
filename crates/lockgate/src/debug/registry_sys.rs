//! The list of modules in memory, for debuggers.
//!
//! gdb's own interface for code made at run time takes files whose addresses are final; a module's addresses, those in
//! its debug information included, are relative to its image. So the runtime only keeps a list, and
//! `share/gdb/lockgate.py` reads it out of the process and loads the symbols of each module at its place. The list
//! costs one lock per domain made, nothing per call, and is always there: a debugger may attach at any time.

use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// Version of the layout of [`Head`] and [`Entry`], for the script.
const VERSION: u64 = 1;

/// A module at its place in one domain's window. The script knows this layout.
#[repr(C)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    /// Address of the image, `W + IMAGE`.
    image: u64,
    file: *const u8,
    file_size: u64,
    name: *const u8,
    name_size: u64,
}

/// Where the script starts.
#[repr(C)]
struct Head {
    version: u64,
    first: *mut Entry,
}

#[unsafe(no_mangle)]
static mut lockgate_debug_modules: Head = Head { version: VERSION, first: null_mut() };

/// Held while the list is read or changed.
static CHANGE: Mutex<()> = Mutex::new(());

/// The script has a breakpoint here: the list has changed.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn lockgate_debug_changed() {
    // Keeps the function and the calls of it.
    std::hint::black_box(&CHANGE);
}

/// A place in the list, until it is dropped.
#[derive(Debug)]
pub(crate) struct Registration(*mut Entry);

// SAFETY: the entry is reached under `CHANGE` only.
unsafe impl Send for Registration {}
// SAFETY: a shared registration offers nothing.
unsafe impl Sync for Registration {}

impl Registration {
    /// Lists the module in `file`, called `name`, whose image is at `image`. `file` and `name` must stay where they are
    /// while the registration lives, because a debugger reads them; this process never does.
    pub(crate) fn new(image: u64, name: &str, file: &[u8]) -> Registration {
        let entry = Box::into_raw(Box::new(Entry {
            next: null_mut(),
            previous: null_mut(),
            image,
            file: file.as_ptr(),
            file_size: file.len() as u64,
            name: name.as_ptr(),
            name_size: name.len() as u64,
        }));
        let _guard = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: under the lock; all entries in the list live until their registration is dropped.
        unsafe {
            let first = lockgate_debug_modules.first;
            (*entry).next = first;
            if !first.is_null() {
                (*first).previous = entry;
            }
            lockgate_debug_modules.first = entry;
        }
        lockgate_debug_changed();
        Registration(entry)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _guard = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: under the lock; the entry is in the list and so are its neighbours; it was made by `new`.
        let entry = unsafe {
            let Entry { next, previous, .. } = *self.0;
            if !next.is_null() {
                (*next).previous = previous;
            }
            match previous.is_null() {
                true => lockgate_debug_modules.first = next,
                false => (*previous).next = next,
            }
            Box::from_raw(self.0)
        };
        lockgate_debug_changed();
        drop(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Images in the list, first to last, of those at least `from`.
    fn listed(from: u64) -> Vec<u64> {
        let _guard = CHANGE.lock().unwrap();
        let mut images = Vec::new();
        // SAFETY: as in `new`.
        unsafe {
            let mut entry = lockgate_debug_modules.first;
            while !entry.is_null() {
                images.push((*entry).image);
                entry = (*entry).next;
            }
        }
        images.retain(|&image| image >= from);
        images
    }

    #[test]
    fn the_list_holds_what_is_registered() {
        // No image is this high: other tests may run domains meanwhile.
        let base = 1 << 60;
        let [a, b, c] = [1, 2, 3].map(|n| Registration::new(base + n, "m", b"file"));
        assert_eq!(listed(base), [base + 3, base + 2, base + 1]);
        drop(b);
        assert_eq!(listed(base), [base + 3, base + 1]);
        drop(c);
        assert_eq!(listed(base), [base + 1]);
        drop(a);
        assert_eq!(listed(base), []);
    }
}
