//! Copies to and from memory that may go at any moment (rule R23): whole, or exactly as far as both sides are there.
mod common;

use common::Guest;
use lockgate_abi::PAGE;
use std::ffi::c_void;
use std::ptr;

/// More than what the short way copies.
const LENGTHS: usize = 150;
const OTHER: u8 = 0xee;

/// A page, and one behind it that is not accessible.
struct Edge(*mut u8);

impl Edge {
    fn new() -> Edge {
        let (size, flags) = (2 * PAGE as usize, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, its second page made inaccessible.
        unsafe {
            let at = libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            let at = at.cast::<u8>();
            assert_eq!(libc::mprotect(at.add(PAGE as usize).cast(), PAGE as usize, libc::PROT_NONE), 0);
            Edge(at)
        }
    }

    /// The last `there` bytes of what is accessible.
    fn last(&self, there: usize) -> *mut u8 {
        // SAFETY: `there` is less than a page.
        unsafe { self.0.add(PAGE as usize - there) }
    }

    fn fill(&self, value: impl Fn(usize) -> u8) {
        (0..PAGE as usize).for_each(|i| {
            // SAFETY: the accessible page.
            unsafe { self.0.add(i).write(value(i)) }
        });
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: the accessible page.
        (0..PAGE as usize).map(|i| unsafe { self.0.add(i).read() }).collect()
    }
}

/// What [`lockgate::copy_memory`] could not copy.
fn left(to: *mut u8, from: *const u8, length: usize) -> usize {
    // SAFETY: both sides are this test's, accessible or not.
    unsafe { lockgate::copy_memory(to.cast::<c_void>(), from.cast(), length) }
}

#[test]
fn r23_copies_of_any_length_end_where_memory_does() {
    let _handlers = Guest::c("int unused(void) { return 0; }").domain();
    let (from, to) = (Edge::new(), Edge::new());
    from.fill(|i| (i * 7 % 251) as u8);
    let source = from.bytes();
    for length in 0..LENGTHS {
        for there in 0..=length {
            // The source ends after `there` bytes; what is not copied stays, as do the neighbours.
            to.fill(|_| OTHER);
            assert_eq!(left(to.0, from.last(there), length), length - there, "{there} of {length} to read");
            let found = to.bytes();
            assert_eq!(found[..there], source[source.len() - there..], "{there} of {length} to read");
            assert!(found[there..].iter().all(|byte| *byte == OTHER), "{there} of {length} to read");

            // The destination does.
            to.fill(|_| OTHER);
            assert_eq!(left(to.last(there), from.0, length), length - there, "room for {there} of {length}");
            let (before, found) = (PAGE as usize - there, to.bytes());
            assert_eq!(found[before..], source[..there], "room for {there} of {length}");
            assert!(found[..before].iter().all(|byte| *byte == OTHER), "room for {there} of {length}");
        }
    }
}
