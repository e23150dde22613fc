//! Copies to and from memory that may go at any moment (rule R23): whole, or exactly as far as both sides are there.

use crate::common::Guest;
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

/// Pages that the host's handler opens when somebody comes to them, as collectors do, and how often it did.
mod barrier {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SIZE: usize = 16 * PAGE as usize;
    static AT: AtomicUsize = AtomicUsize::new(0);
    static OPENED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn open(_: i32, info: *const libc::siginfo_t, _: *const c_void) {
        // SAFETY: the kernel's; pages of ours. What is not mended comes again, for ever.
        unsafe {
            let (at, page) = (AT.load(Ordering::Relaxed), (*info).si_addr() as usize & !(PAGE as usize - 1));
            if !(at..at + SIZE).contains(&page) {
                libc::_exit(66);
            }
            OPENED.fetch_add(1, Ordering::Relaxed);
            libc::mprotect(page as *mut c_void, PAGE as usize, libc::PROT_READ | libc::PROT_WRITE);
        }
    }

    pub fn install() {
        // SAFETY: new memory, and a handler, through libc.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let at = libc::mmap(ptr::null_mut(), SIZE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            AT.store(at as usize, Ordering::Relaxed);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = open as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()), 0);
        }
    }

    /// `length` bytes in the middle of the first page's end, all of whose pages have these rights now.
    pub fn closed(length: usize, rights: i32) -> &'static mut [u8] {
        let at = AT.load(Ordering::Relaxed);
        OPENED.store(0, Ordering::Relaxed);
        // SAFETY: our own pages; whoever touches them has the handler.
        unsafe {
            libc::mprotect(at as *mut c_void, SIZE, rights);
            std::slice::from_raw_parts_mut((at + PAGE as usize - length / 2) as *mut u8, length)
        }
    }

    pub fn opened() -> usize {
        OPENED.swap(0, Ordering::Relaxed)
    }
}

/// Memory of the host's that its own handler opens is there for copies as it is for the host. Red if the fault ends the copy as one at the
/// domain's side does.
#[test]
fn r23_faults_at_the_hosts_side_go_to_its_handler() {
    let output = crate::common::in_child("copies_sys::child_copies_behind_barriers");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by r23_faults_at_the_hosts_side_go_to_its_handler"]
fn child_copies_behind_barriers() {
    let _watchdog = crate::common::watchdog("copies behind barriers");
    let domain = Guest::c("int unused(void) { return 0; }").domain();
    barrier::install();
    for length in [2, 30, 6000] {
        let wanted: Vec<u8> = (0..length).map(|i| (i * 7 % 251) as u8).collect();
        let at = domain.alloc_slice(&wanted).unwrap();
        for rights in [libc::PROT_READ, libc::PROT_NONE] {
            let into = barrier::closed(length, rights);
            domain.read_into(at, into).unwrap();
            assert!(barrier::opened() >= 2 && *into == *wanted, "reads of {length}");
            let (from, to) = (at.address() as *const u8, barrier::closed(length, rights).as_mut_ptr());
            assert_eq!((left(to, from, length), barrier::opened() >= 2), (0, true), "copies of {length}");
        }
        let from = barrier::closed(length, libc::PROT_NONE);
        let copy = domain.alloc_slice(from).unwrap();
        assert!(barrier::opened() >= 2, "writes of {length}");
        let mut back = vec![0; length];
        domain.read_into(copy, &mut back).unwrap();
        assert_eq!(back, wanted);
        let region = lockgate::Region::new(2 * PAGE).unwrap();
        let shared = region.slice::<u8>(1, length as u64).unwrap();
        shared.write(0, barrier::closed(length, libc::PROT_NONE)).unwrap();
        assert!(barrier::opened() >= 2, "writes of {length} to a region");
        shared.copy_into(0, barrier::closed(length, libc::PROT_READ)).unwrap();
        assert!(barrier::opened() >= 2, "reads of {length} from a region");
        // The domain's side is the copy's own affair, whoever has a handler.
        assert!(domain.read_into(lockgate::Pointer::from_address(domain.base() + 8), &mut back).is_err());
        assert_eq!(left(back.as_mut_ptr(), (domain.base() + 8) as *const u8, length), length);
        assert_eq!(barrier::opened(), 0);
    }
}
