//! An allocator that counts: parsers of what others wrote must not need more memory than a multiple of their input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counted.
pub struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// No input deserves this much at once: the program is aborted, and says so.
const ABSURD: usize = 4 << 30;

fn grow(size: usize) {
    let live = LIVE.fetch_add(size, Relaxed) + size;
    if live > PEAK.load(Relaxed) {
        PEAK.store(live, Relaxed);
    }
}

// SAFETY: every request goes to the system's allocator as it is, or is refused as a whole.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > ABSURD {
            return std::ptr::null_mut();
        }
        grow(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() > ABSURD {
            return std::ptr::null_mut();
        }
        grow(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Most bytes that were allocated at the same time during `work`, beyond those that were before it. 0 where [`Counting`] is not
/// the program's allocator; other threads count, too.
pub fn peak(work: impl FnOnce()) -> usize {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed).saturating_sub(before)
}

/// Most memory that one of the programs had which this one has started and waited for, bytes.
///
/// # Panics
/// The system does not say.
pub fn of_programs() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a place for what the call writes.
    let status = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "the system says what programs needed");
    // SAFETY: numbers, of which zero is one, and the call has written them.
    let usage = unsafe { usage.assume_init() };
    usage.ru_maxrss as u64 * 1024
}
